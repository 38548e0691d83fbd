/** Median of numbers; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Ratios of values measured side by side, as their median and range. */
export function ratio(ours: readonly number[], theirs: readonly number[]): string {
  const ratios = theirs.map((value, i) => value / (ours[i] ?? Number.NaN))
  return `${factor(median(ratios))}× (${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))})`
}

function factor(value: number): string {
  return value < 0.1 ? value.toPrecision(1) : value.toFixed(value < 10 ? 2 : 0)
}

/** Seconds with sensible digits. */
export function seconds(milliseconds: readonly number[]): string {
  const value = median(milliseconds)
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value / 1000).toFixed(2)} s`
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20).toLocaleString('en')} MB`
}

/** Prints a markdown table. */
export function printTable(title: string, header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [tableLine(header), tableLine(header.map(() => '---')), ...rows.map(tableLine)]
  process.stdout.write(`\n${title}\n\n${lines.join('\n')}\n\n`)
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** Says on standard error what is being done. */
export function note(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}
