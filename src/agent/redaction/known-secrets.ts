/** Environment variables that contain a secret, by the end of their names; `AGENT_DAILY_TOKENS` does not match. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|CREDENTIALS)$/i

export interface SecretSources {
  /** Secrets of the configuration. */
  readonly settings: readonly (string | undefined)[]
  /** Address of the state database, which may contain a password. */
  readonly databaseUrl: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Secrets of the configured catalog: values or `env:NAME`. Returns the same array until the catalog changes. */
  readonly catalog: () => readonly string[]
}

/** All secrets in the settings of this process, which must never be in a tool result. */
export function knownSecrets({ settings, databaseUrl, env, catalog }: SecretSources): () => readonly string[] {
  const password = URL.parse(databaseUrl ?? '')?.password ?? ''
  const fixed = [
    ...settings,
    databaseUrl,
    password,
    password && decodeURIComponent(password),
    ...Object.entries(env).map(([name, value]) => (SECRET_NAME.test(name) ? value : undefined)),
  ]
  let configured: readonly string[] | undefined
  let known: readonly string[] = []
  return () => {
    const current = catalog()
    if (current !== configured) {
      configured = current
      const named = current.map((value) => (value.startsWith('env:') ? env[value.slice('env:'.length)] : value))
      known = [...fixed, ...named].filter((secret): secret is string => typeof secret === 'string' && secret !== '')
    }
    return known
  }
}
