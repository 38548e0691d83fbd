import { z } from 'zod'

const check = z.enum(['ok', 'failed', 'not_configured'])

/** `starting` until it is known whether the engine can be loaded. */
const engineCheck = z.enum([...check.options, 'starting'])

/** Answer of GET /api/health (docs/api.md#service-health). */
export const serviceHealth = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    uptime_s: z.number().min(0),
    checks: z.object({ state: check, catalog: check, engine: engineCheck, cluster: check }),
    demo: z.literal('creating').nullable().meta({ description: 'Whether the demo tables are being created' }),
    problems: z
      .array(
        z.object({
          check: z.enum(['state', 'catalog', 'engine', 'cluster']),
          code: z.enum(['NO_SPACE', 'NOT_WRITABLE']),
          detail: z.string(),
        }),
      )
      .meta({ description: 'The state folder or the warehouse, if it can be read but not written' }),
  })
  .meta({ id: 'ServiceHealth' })

export const liveness = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' })

export type ServiceHealth = z.infer<typeof serviceHealth>
