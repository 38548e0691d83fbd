import type { ServiceHealth } from '../../schemas/service-health.ts'
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

/** Reports whether the service and its dependencies work. */
export interface HealthService {
  check(): Promise<ServiceHealth>
}

const CHECK_LIMIT_MS = 5000

const DETAILS: Readonly<Record<WriteProblem, string>> = {
  NO_SPACE: 'no space is left: free some',
  NOT_WRITABLE: 'it can be read, but not written',
}

/** A health service with one probe per part; a probe that does not respond within 5 s counts as failed. */
export function createHealthService(deps: HealthServiceDeps): HealthService {
  return {
    async check() {
      const [state, catalog, engine, cluster] = await Promise.all([
        probe(deps.checks.state),
        probe(deps.checks.catalog),
        probe(deps.checks.engine),
        probe(deps.checks.cluster),
      ])
      const outcomes = { state, catalog, engine, cluster }
      const checks = {
        state: settled(state),
        catalog: settled(catalog),
        engine: shown(engine),
        cluster: settled(cluster),
      }
      const failed = Object.values(checks).includes('failed') || catalog === 'not_configured'
      return {
        status: failed ? 'degraded' : 'ok',
        version: deps.version,
        uptime_s: Math.round((deps.nowMs() - deps.startedAtMs) / 100) / 10,
        checks,
        demo: deps.isCreatingDemo() ? 'creating' : null,
        problems: PARTS.flatMap((part) => {
          const outcome = outcomes[part]
          return isWriteProblem(outcome) ? [{ check: part, code: outcome, detail: DETAILS[outcome] }] : []
        }),
      }
    },
  }
}

const PARTS = ['state', 'catalog', 'engine', 'cluster'] as const satisfies readonly Part[]

type Shown = ServiceHealth['checks']['engine']
type Settled = ServiceHealth['checks']['state']
type Probed = Shown | WriteProblem

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

async function probe(check: () => Promise<Outcome>): Promise<Probed> {
  const { promise: late, resolve } = Promise.withResolvers<Probed>()
  const timer = setTimeout(() => resolve('failed'), CHECK_LIMIT_MS)
  try {
    const answered = check().then((result): Probed => result ?? 'ok')
    return await Promise.race([answered, late])
  } catch {
    return 'failed'
  } finally {
    clearTimeout(timer)
  }
}
