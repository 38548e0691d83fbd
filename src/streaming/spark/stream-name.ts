/** The name in Spark's SQL for the rows of the n-th source table. */
export function streamName(source: number): string {
  return `lockhouse_source_${source}`
}
