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
  const series = new Map<string, Map<string, Series>>()
  return {
    add({ method, route, status, seconds }) {
      const found = seriesOf(series, route, `${METHODS.has(method) ? method : 'other'} ${Math.floor(status / 100)}`)
      let bucket = 0
      while (seconds > (BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
      if (bucket < BUCKETS.length) found.buckets[bucket] = (found.buckets[bucket] ?? 0) + 1
      found.count += 1
      found.sum += seconds
    },
    text() {
      const lines = [`# HELP ${NAME} ${HELP}`, `# TYPE ${NAME} histogram`]
      for (const ofRoute of series.values()) for (const one of ofRoute.values()) lines.push(...linesOf(one))
      return lines.join('\n')
    },
  }
}

function seriesOf(all: Map<string, Map<string, Series>>, route: string, kind: string): Series {
  let ofRoute = all.get(route)
  if (ofRoute === undefined) all.set(route, (ofRoute = new Map()))
  let series = ofRoute.get(kind)
  if (series === undefined) ofRoute.set(kind, (series = newSeries(route, kind)))
  return series
}

function newSeries(route: string, kind: string): Series {
  const [method = '', statusClass = ''] = kind.split(' ')
  const labels = `method="${method}",route="${route}",status="${statusClass}xx"`
  return { labels, buckets: BUCKETS.map(() => 0), count: 0, sum: 0 }
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
