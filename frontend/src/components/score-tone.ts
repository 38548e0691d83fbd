/** How a health score is coloured and called: from 80 on it is fine, under 50 it needs care. */
export function scoreTone(score: number): 'ok' | 'warn' | 'bad' {
  if (score >= 80) return 'ok'
  return score >= 50 ? 'warn' : 'bad'
}
