/** One finished request. The route is a pattern of the route table, never the address that was asked for. */
export interface RequestSample {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** Durations of requests by method, route and class of status. */
export interface RequestHistogram {
  add(sample: RequestSample): void
  /** In the text format of Prometheus, version 0.0.4. */
  text(): string
}

const NAME = 'lockhouse_http_request_duration_seconds'
const HELP = 'Time until a response starts, by route pattern.'
const BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 5, 30]
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])

interface Series {
  readonly labels: string
  /** Requests of each bucket alone; slower ones are only in `count`. */
  readonly buckets: number[]
  count: number
  sum: number
}

/**
 * Counts requests without the metrics library, which would take longer for one than routing it. Labels have few values,
 * whatever clients send.
 */
export function createRequestHistogram(): RequestHistogram {
  const series: SeriesByLabels = new Map()
  return {
    add({ method, route, status, seconds }) {
      const found = seriesOf(series, { method, route, status })
      let bucket = 0
      while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
      if (bucket < BUCKETS.length) found.buckets[bucket] = (found.buckets[bucket] ?? 0) + 1
      found.count += 1
      found.sum += seconds
    },
    text() {
      const lines = [`# HELP ${NAME} ${HELP}`, `# TYPE ${NAME} histogram`]
      for (const ofRoute of series.values()) {
        for (const ofMethod of ofRoute.values()) for (const one of ofMethod.values()) lines.push(...linesOf(one))
      }
      return lines.join('\n')
    },
  }
}

/** By route, then method, then the first digit of the status: a key of all three would have to be made for each request. */
type SeriesByLabels = Map<string, Map<string, Map<number, Series>>>

function seriesOf(all: SeriesByLabels, { method: given, route, status }: Omit<RequestSample, 'seconds'>): Series {
  const method = METHODS.has(given) ? given : 'other'
  const statusClass = Math.floor(status / 100)
  const ofRoute = entryOf(all, route, () => new Map())
  const ofMethod = entryOf(ofRoute, method, () => new Map())
  return entryOf(ofMethod, statusClass, () => {
    const labels = `method="${method}",route="${route}",status="${statusClass}xx"`
    return { labels, buckets: BUCKETS.map(() => 0), count: 0, sum: 0 }
  })
}

/** The entry of a key, made when there is none. */
function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}

function linesOf({ labels, buckets, count, sum }: Series): readonly string[] {
  let upTo = 0
  const counted = buckets.map((inBucket, at) => {
    upTo += inBucket
    return `${NAME}_bucket{le="${BUCKETS[at]}",${labels}} ${upTo}`
  })
  return [
    ...counted,
    `${NAME}_bucket{le="+Inf",${labels}} ${count}`,
    `${NAME}_sum{${labels}} ${sum}`,
    `${NAME}_count{${labels}} ${count}`,
  ]
}
