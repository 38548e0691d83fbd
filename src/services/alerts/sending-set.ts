const AT_ONCE_PER_ALERT = 2

/** The deliveries in progress: a receiver that hangs must not delay those of others. */
export function createSendingSet() {
  const inFlight = new Map<string, { readonly alertId: string; readonly done: Promise<void> }>()
  const listeners = new Set<() => void>()
  return {
    size: () => inFlight.size,
    /** Alerts that have reached their limit of concurrent deliveries. */
    busyAlerts(): readonly string[] {
      const counts = Map.groupBy(inFlight.values(), ({ alertId }) => alertId)
      return [...counts].filter(([, deliveries]) => deliveries.length >= AT_ONCE_PER_ALERT).map(([id]) => id)
    },
    /** Starts sending; resolves when `send` reports that the delivery is leased. */
    async add(
      { id, alertId }: { readonly id: string; readonly alertId: string },
      send: (taken: () => void) => Promise<void>,
    ): Promise<void> {
      const { promise: taken, resolve, reject } = Promise.withResolvers<void>()
      const done = send(resolve)
        .catch(reject)
        .finally(() => {
          inFlight.delete(id)
          for (const listener of listeners) listener()
        })
      inFlight.set(id, { alertId, done })
      await taken
    },
    onDone(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async ended(): Promise<void> {
      await Promise.all([...inFlight.values()].map(({ done }) => done))
    },
  }
}
