/** Color and label of a health score: good from 80, critical under 50. */
export function scoreTone(score: number): 'ok' | 'warn' | 'bad' {
  if (score >= 80) return 'ok'
  return score >= 50 ? 'warn' : 'bad'
}
