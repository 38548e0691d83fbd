export interface LeakyBucketOptions {
  /** Maximum count of a key at once. */
  readonly burst: number
  /** Milliseconds until the count decreases by one. */
  readonly forgetMs: number
  readonly nowMs: () => number
}

/** Counts per key that decrease over time; see {@link createLeakyBuckets}. */
export interface LeakyBuckets {
  /** Milliseconds until the key may have one more; 0: now. */
  waitMs(key: string): number
  /** Adds to the count of a key, 1 by default. */
  add(key: string, amount?: number): void
}

const MAX_KEYS = 10_000

interface Bucket {
  /** The count at the time `at`; fractional, because it decreases continuously. */
  readonly count: number
  readonly at: number
}

/** Leaky buckets in memory, at most 10,000; beyond that the least recently used one is removed. */
export function createLeakyBuckets({ burst, forgetMs, nowMs }: LeakyBucketOptions): LeakyBuckets {
  const buckets = new Map<string, Bucket>()
  const remaining = (bucket: Bucket | undefined): number =>
    bucket === undefined ? 0 : Math.max(0, bucket.count - (nowMs() - bucket.at) / forgetMs)
  return {
    waitMs: (key) => Math.max(0, (remaining(buckets.get(key)) - burst + 1) * forgetMs),
    add(key, amount = 1) {
      putNewest(buckets, [key, { count: remaining(buckets.get(key)) + amount, at: nowMs() }], MAX_KEYS)
    },
  }
}

/** Sets a key as the newest one and removes the oldest beyond `maxKeys`. */
export function putNewest<T>(all: Map<string, T>, [key, value]: readonly [string, T], maxKeys: number): void {
  all.delete(key)
  all.set(key, value)
  if (all.size <= maxKeys) return
  const [oldest] = all.keys()
  if (oldest !== undefined) all.delete(oldest)
}
