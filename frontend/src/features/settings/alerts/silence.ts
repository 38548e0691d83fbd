const HOUR_MS = 3_600_000

/** Whether an alert sends nothing now. */
export function isSilenced(until: string | null): boolean {
  return until !== null && Date.parse(until) > Date.now()
}

/** The end of a silence that begins now (ISO 8601). */
export function inAnHour(): string {
  return new Date(Date.now() + HOUR_MS).toISOString()
}
