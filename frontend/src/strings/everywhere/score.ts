/** Text of health scores. */
export const score = {
  title: (value: number, tone: string) => `Health score ${value} of 100: ${tone}`,
  outOf: 'of 100',
  tones: { ok: 'healthy', warn: 'fair', bad: 'poor' },
} as const
