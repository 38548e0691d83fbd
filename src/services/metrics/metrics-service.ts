import type { Registry } from 'prom-client'
import { createInstruments, type Instruments, type Prometheus } from './instruments.ts'
import { createRequestHistogram, type RequestSample } from './request-histogram.ts'

/** One value of a gauge. */
export interface GaugeValue {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** A gauge that is read when the metrics are asked for. */
export interface GaugeFamily {
  /** Without the prefix `lockhouse_`; names that start with `process_` get none. */
  readonly name: string
  readonly help: string
  /** `counter`: a value that only grows while the process runs. */
  readonly type?: 'gauge' | 'counter'
  readonly values: readonly GaugeValue[]
}

/** Reads a part of the service; one that fails is reported and leaves the others as they are. */
export interface Probe {
  readonly name: string
  readonly read: () => Promise<readonly GaugeFamily[]>
}

/** The metrics of this process (docs/api.md#metrics). */
export interface MetricsService extends Instruments {
  /** Counts a request. */
  request(sample: RequestSample): void
  /** All metrics in the text format of Prometheus, version 0.0.4. Requests at the same time share one reading. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>
}

export interface MetricsDeps {
  readonly probes: () => readonly Probe[]
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Called when a probe fails. */
  readonly onError: (probe: string, error: unknown) => void
}

type Observation = (instruments: Instruments) => void

/** Observations that wait until the library is loaded; it takes 25 ms, which no start should pay. */
const MAX_WAITING = 1000

/** Creates the metrics. The library is loaded when they are first asked for, or after many observations. */
export function createMetricsService(deps: MetricsDeps): MetricsService {
  let waiting: Observation[] = []
  let opened: Promise<Opened> | undefined
  let ready: Opened | undefined
  const open = async (): Promise<Opened> => {
    const prometheus = await import('prom-client')
    const registry = new prometheus.Registry()
    ready = { prometheus, registry, instruments: createInstruments(prometheus, registry) }
    for (const observation of waiting) observation(ready.instruments)
    waiting = []
    return ready
  }
  const observe = (observation: Observation): void => {
    if (ready !== undefined) return observation(ready.instruments)
    if (waiting.length < MAX_WAITING) waiting.push(observation)
    else void (opened ??= open()).catch((error: unknown) => deps.onError('library', error))
  }
  let running: Promise<string> | undefined
  const requests = createRequestHistogram()
  return {
    request: (sample) => requests.add(sample),
    operation: (sample) => observe((to) => to.operation(sample)),
    batch: (sample) => observe((to) => to.batch(sample)),
    batchFailure: () => observe((to) => to.batchFailure()),
    catalogCall: (sample) => observe((to) => to.catalogCall(sample)),
    async expose() {
      const { prometheus, registry } = await (opened ??= open())
      running ??= expose(deps, { prometheus, registry }).finally(() => (running = undefined))
      return { contentType: prometheus.prometheusContentType, text: `${requests.text()}\n${await running}` }
    },
  }
}

interface Opened {
  readonly prometheus: Prometheus
  readonly registry: Registry
  readonly instruments: Instruments
}

/** The observations of the registry, then what the probes read. */
async function expose(deps: MetricsDeps, { prometheus, registry }: Omit<Opened, 'instruments'>): Promise<string> {
  const { Counter, Gauge, Registry } = prometheus
  const read = new Registry()
  const outcomes = await Promise.all(deps.probes().map((probe) => readProbe(deps, probe)))
  const families = [...outcomes.flatMap((outcome) => outcome.families), ...probeFamilies(outcomes)]
  for (const { name, help, type = 'gauge', values } of families) {
    const labelNames = Object.keys(values[0]?.labels ?? {})
    const shape = {
      name: name.startsWith('process_') ? name : `lockhouse_${name}`,
      help,
      labelNames,
      registers: [read],
    }
    if (type === 'counter') {
      const counter = new Counter(shape)
      for (const { labels = {}, value } of values) counter.inc(labels, value)
    } else {
      const gauge = new Gauge(shape)
      for (const { labels = {}, value } of values) gauge.set(labels, value)
    }
  }
  return `${await registry.metrics()}\n${await read.metrics()}`
}

interface ProbeOutcome {
  readonly probe: string
  readonly seconds: number
  /** Empty when it failed. */
  readonly families: readonly GaugeFamily[]
  readonly isRead: boolean
}

async function readProbe({ nowMs, onError }: MetricsDeps, { name: probe, read }: Probe): Promise<ProbeOutcome> {
  const startedAt = nowMs()
  try {
    const families = await read()
    return { probe, families, isRead: true, seconds: (nowMs() - startedAt) / 1000 }
  } catch (error) {
    onError(probe, error)
    return { probe, families: [], isRead: false, seconds: (nowMs() - startedAt) / 1000 }
  }
}

function probeFamilies(outcomes: readonly ProbeOutcome[]): readonly GaugeFamily[] {
  const each = (value: (outcome: ProbeOutcome) => number): readonly GaugeValue[] =>
    outcomes.map((outcome) => ({ labels: { probe: outcome.probe }, value: value(outcome) }))
  return [
    {
      name: 'probe_success',
      help: 'Whether a part of the service could be read for these metrics.',
      values: each(({ isRead }) => (isRead ? 1 : 0)),
    },
    {
      name: 'probe_duration_seconds',
      help: 'Time to read a part of the service for these metrics.',
      values: each(({ seconds }) => seconds),
    },
  ]
}
