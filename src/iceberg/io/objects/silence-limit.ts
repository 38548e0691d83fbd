/** Options of a request of the Azure SDK: when it is aborted, and whom to call when bytes move. */
export interface LimitedRequest {
  readonly abortSignal: AbortSignal
  readonly onProgress: () => void
}

const SILENCE_MS = 60_000

/** Aborts a request after a minute without progress. The SDK itself would wait for ever. */
export async function withSilenceLimit<T>(
  send: (limited: LimitedRequest) => Promise<T>,
  silenceMs: number = SILENCE_MS,
): Promise<T> {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  let timer = setTimeout(abort, silenceMs)
  const onProgress = (): void => {
    clearTimeout(timer)
    timer = setTimeout(abort, silenceMs)
  }
  try {
    return await send({ abortSignal: controller.signal, onProgress })
  } finally {
    clearTimeout(timer)
  }
}
