/** Environments of versions as headings. */
export const environments = {
  development: 'Development',
  qa: 'QA',
  uat: 'UAT',
  production: 'Production',
  retired: 'Retired',
} as const

/** An environment in the middle of a sentence: `QA`, `production`. */
export function inWords(environment: string): string {
  return environment === 'qa' || environment === 'uat' ? environment.toUpperCase() : environment
}
