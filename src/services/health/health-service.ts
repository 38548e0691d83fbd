import type { ServiceHealth } from '../../schemas/service-health.ts'
import { createRecentProbe, type Recent, type RecentProbe } from './recent-probe.ts'
import type { WriteProblem } from './write-probe.ts'

type Part = keyof ServiceHealth['checks']
type Outcome = void | 'not_configured' | 'starting' | WriteProblem

export interface HealthServiceDeps {
  readonly version: string
  readonly startedAtMs: number
  readonly nowMs: () => number
  /**
   * Each resolves when its part responds and rejects when it fails. It resolves to `not_configured` when there is none,
   * to `starting` while that is not known, or to the reason when the part can be read but not written.
   */
  readonly checks: Readonly<Record<Part, () => Promise<Outcome>>>
  /** Whether the demo tables are being created. */
  readonly isCreatingDemo: () => boolean
}

/** A report, also as JSON text, so that requests of the same second do not write it again. */
export interface HealthReport {
  readonly health: ServiceHealth
  readonly text: string
}

/** Reports whether the service and its dependencies work. */
export interface HealthService {
  /** The health as of the last second; without waiting when all parts were checked within it. */
  report(): HealthReport | Promise<HealthReport>
}

/** How long an outcome counts from the start of its check, so that a failure is shown at most this much later. */
const FRESH_MS = 1000

const DETAILS: Readonly<Record<WriteProblem, string>> = {
  NO_SPACE: 'no space is left: free some',
  NOT_WRITABLE: 'it can be read, but not written',
}

/**
 * A health service with one probe per part. Each part is checked at most once a second, for all callers together, and
 * only while someone asks; one that does not respond within 5 s counts as failed, and delays no other part.
 */
export function createHealthService(deps: HealthServiceDeps): HealthService {
  const probeOf = (part: Part): RecentProbe<Probed> =>
    createRecentProbe<Probed>({
      check: async () => (await deps.checks[part]()) ?? 'ok',
      failed: 'failed',
      freshMs: FRESH_MS,
      nowMs: deps.nowMs,
    })
  const probes = {
    state: probeOf('state'),
    catalog: probeOf('catalog'),
    engine: probeOf('engine'),
    cluster: probeOf('cluster'),
  }
  let last: Reported | undefined
  const measure = async (): Promise<HealthReport> => {
    const [state, catalog, engine, cluster] = await Promise.all([
      probes.state(),
      probes.catalog(),
      probes.engine(),
      probes.cluster(),
    ])
    const demo = deps.isCreatingDemo()
    const recent = { state, catalog, engine, cluster }
    const health = healthOf(deps, recent, demo)
    const report = { health, text: JSON.stringify(health) }
    last = { report, demo, validUntilMs: Math.min(...Object.values(recent).map(({ validUntilMs }) => validUntilMs)) }
    return report
  }
  return {
    report() {
      const counts = last !== undefined && deps.nowMs() < last.validUntilMs && last.demo === deps.isCreatingDemo()
      return counts && last !== undefined ? last.report : measure()
    },
  }
}

/** A report that counts until a time of the clock. */
interface Reported {
  readonly report: HealthReport
  readonly demo: boolean
  readonly validUntilMs: number
}

const PARTS = ['state', 'catalog', 'engine', 'cluster'] as const satisfies readonly Part[]

type Shown = ServiceHealth['checks']['engine']
type Settled = ServiceHealth['checks']['state']
type Probed = Shown | WriteProblem

function healthOf(
  { version, startedAtMs, nowMs }: HealthServiceDeps,
  recent: Readonly<Record<Part, Recent<Probed>>>,
  demo: boolean,
): ServiceHealth {
  const checks = {
    state: settled(recent.state.outcome),
    catalog: settled(recent.catalog.outcome),
    engine: shown(recent.engine.outcome),
    cluster: settled(recent.cluster.outcome),
  }
  const failed = Object.values(checks).includes('failed') || recent.catalog.outcome === 'not_configured'
  return {
    status: failed ? 'degraded' : 'ok',
    version,
    uptime_s: Math.round((nowMs() - startedAtMs) / 100) / 10,
    checks,
    demo: demo ? 'creating' : null,
    problems: PARTS.flatMap((part) => {
      const { outcome } = recent[part]
      return isWriteProblem(outcome) ? [{ check: part, code: outcome, detail: DETAILS[outcome] }] : []
    }),
  }
}

function isWriteProblem(outcome: Probed): outcome is WriteProblem {
  return outcome === 'NO_SPACE' || outcome === 'NOT_WRITABLE'
}

function shown(outcome: Probed): Shown {
  return isWriteProblem(outcome) ? 'failed' : outcome
}

/** Only the engine can be starting. */
function settled(outcome: Probed): Settled {
  const result = shown(outcome)
  return result === 'starting' ? 'failed' : result
}
