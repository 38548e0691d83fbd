/** What a sample of a table's rows has at most; the page says so before it asks for one. */
export const SAMPLE_LIMITS = {
  /** Data files. */
  files: 50,
  /** Of these files, unless one file has more. */
  bytes: 256 * 2 ** 20,
  /** Measured rows, on average over many samples; fewer in tables with more than 5 columns. */
  rows: 100_000,
} as const
