/** A number with thousands separated: `1,295`. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A number with its noun: `1 file`, `1,295 files`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** A share as percent: `12 %`, `0.4 %`. */
export function percent(ratio: number): string {
  const value = ratio * 100
  return `${value === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} %`
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** A size for people: `384 MiB`, `2.5 MiB`, `17 bytes`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const text = unit === 0 || value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1)
  return `${text} ${unit === 0 && value === 1 ? 'byte' : UNITS[unit]}`
}
