const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

/** A day in UTC as text, such as `2026-11-20`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** The day that is a number of days after another, or before it if the number is below 0. */
export function addDays(day: string, days: number): string {
  return dayOf(new Date(Date.parse(day) + days * DAY_MS))
}

/** All days from one to another, both included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const count = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return Array.from({ length: Math.max(0, count) }, (_, at) => addDays(from, at))
}

/** A parameter of the address as a day; undefined when it is none. */
export function parseDay(text: string | undefined): string | undefined {
  return text !== undefined && DAY.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined
}
