import { z } from 'zod'

const check = z.enum(['ok', 'failed', 'not_configured'])

/** Answer of GET /api/health (contract, section 5). */
export const serviceHealth = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    uptime_s: z.number().min(0),
    checks: z.object({ state: check, catalog: check, engine: check, cluster: check }),
  })
  .meta({ id: 'ServiceHealth' })

export const liveness = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' })

export type ServiceHealth = z.infer<typeof serviceHealth>
