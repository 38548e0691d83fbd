const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** A duration such as `15 minutes` or `1 day` in ms; undefined when it is not a number of 1 to 9999 and a unit. */
export function parseDuration(text: string): number | undefined {
  const [, amount = '', unit = ''] = /^([1-9]\d{0,3}) (second|minute|hour|day)s?$/.exec(text.trim()) ?? []
  const factor = Object.hasOwn(UNIT_MS, unit) ? UNIT_MS[unit] : undefined
  return factor === undefined ? undefined : Number(amount) * factor
}
