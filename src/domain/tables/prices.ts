/** What storage and requests cost, in one currency; undefined where no price is configured. */
export interface Prices {
  /** ISO 4217, such as `USD`. */
  readonly currency: string
  /** For 10⁹ bytes kept for a month. */
  readonly perGbMonth: number | undefined
  /** For 1,000 requests to the store. */
  readonly perThousandRequests: number | undefined
}

/** What a change saves; negative when it costs more. */
export interface Savings {
  readonly currency: string
  /** Each month, for storage. */
  readonly storage_per_month: number | null
  /** For every 1,000 full scans of the table, for requests. */
  readonly thousand_scans: number | null
}

const BYTES_PER_GB = 1e9

/** What is saved by storing fewer bytes, and by fewer requests in each full scan; null without any price. Pure. */
export function savingsOf(
  { storedBytes, scanRequests }: { readonly storedBytes: number | null; readonly scanRequests: number | null },
  prices: Prices | undefined,
): Savings | null {
  if (prices === undefined) return null
  const { currency, perGbMonth, perThousandRequests } = prices
  if (perGbMonth === undefined && perThousandRequests === undefined) return null
  return {
    currency,
    storage_per_month: storedBytes === null ? null : product(storedBytes / BYTES_PER_GB, perGbMonth),
    // the price of 1,000 requests is that of one request in each of 1,000 scans
    thousand_scans: scanRequests === null ? null : product(scanRequests, perThousandRequests),
  }
}

function product(amount: number, price: number | undefined): number | null {
  return price === undefined ? null : amount * price
}
