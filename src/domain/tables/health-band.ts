/** How urgent the maintenance of a table is. */
export const HEALTH_BANDS = ['good', 'fair', 'poor', 'unknown'] as const

export type HealthBand = (typeof HEALTH_BANDS)[number]

/** The lowest score of a good table, and of a fair one. */
export const GOOD_SCORE = 80
export const FAIR_SCORE = 50
/** A table that was unhealthy is healthy again from this score on, so that a score near the limit raises few events. */
export const RECOVERED_SCORE = 60

/** The band of a score from 0 to 100; `unknown` for a table that could not be measured. */
export function healthBand(score: number | null): HealthBand {
  if (score === null) return 'unknown'
  if (score >= GOOD_SCORE) return 'good'
  return score >= FAIR_SCORE ? 'fair' : 'poor'
}
