import type { ServiceHealth } from '../schemas/service-health.ts'

type Check = ServiceHealth['checks']['state']

export interface HealthServiceDeps {
  readonly version: string
  readonly startedAtMs: number
  readonly nowMs: () => number
  /** Each resolves when its part answers, rejects when it fails, and resolves to `not_configured` when there is none. */
  readonly checks: Readonly<Record<keyof ServiceHealth['checks'], () => Promise<void | 'not_configured'>>>
}

/** Tells whether the service and what it stands on work. */
export interface HealthService {
  check(): Promise<ServiceHealth>
}

const CHECK_LIMIT_MS = 5000

/** A health service over one probe per part; a probe that does not answer within 5 s counts as failed. */
export function createHealthService(deps: HealthServiceDeps): HealthService {
  return {
    async check() {
      const [state, catalog, engine, cluster] = await Promise.all([
        probe(deps.checks.state),
        probe(deps.checks.catalog),
        probe(deps.checks.engine),
        probe(deps.checks.cluster),
      ])
      const failed = [state, catalog, engine, cluster].includes('failed') || catalog === 'not_configured'
      return {
        status: failed ? 'degraded' : 'ok',
        version: deps.version,
        uptime_s: Math.round((deps.nowMs() - deps.startedAtMs) / 100) / 10,
        checks: { state, catalog, engine, cluster },
      }
    },
  }
}

async function probe(check: () => Promise<void | 'not_configured'>): Promise<Check> {
  const { promise: late, resolve } = Promise.withResolvers<Check>()
  const timer = setTimeout(() => resolve('failed'), CHECK_LIMIT_MS)
  try {
    const answered = check().then((result): Check => result ?? 'ok')
    return await Promise.race([answered, late])
  } catch {
    return 'failed'
  } finally {
    clearTimeout(timer)
  }
}
