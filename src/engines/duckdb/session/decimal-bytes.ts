/** Bytes of a decimal of more than 18 digits in the files of the engine. */
export const WIDE_DECIMAL_BYTES = 16

/** The fewest bytes that hold all decimals of a precision as two's complement (Iceberg spec, Appendix A, "Parquet"). */
export function decimalBytes(precision: number): number {
  let bytes = 1
  while (10n ** BigInt(precision) > 2n ** BigInt(8 * bytes - 1)) bytes += 1
  return bytes
}
