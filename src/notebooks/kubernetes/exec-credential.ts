import type { KubeConfig, User } from '@kubernetes/client-node'
import { ClusterError } from '../cluster-error.ts'

/** A credential plugin of a kubeconfig: a program that prints credentials. */
export interface PluginCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
}

/** Runs a program and resolves to its output; rejects when it fails or takes longer than `timeoutMs`. */
export type RunPlugin = (plugin: PluginCommand, timeoutMs: number) => Promise<string>

/** The status of an `ExecCredential` (Kubernetes, client.authentication.k8s.io/v1). */
interface Credential {
  readonly token: string | undefined
  readonly clientCertificateData: string | undefined
  readonly clientKeyData: string | undefined
  /** Until when it may be reused, in ms since the epoch. */
  readonly untilMs: number
}

/** Request options of the client that take credentials. */
interface RequestOptions {
  headers?: Record<string, unknown>
  cert?: unknown
  key?: unknown
}

const PLUGIN_MS = 10_000
/** A credential is renewed this long before it expires. */
const MARGIN_MS = 5_000
/** Lifetime of a credential without an expiry time, as the client uses for token files. */
const UNDATED_MS = 60_000

/**
 * Replaces the client's handling of credential plugins in a kubeconfig (`users[].user.exec`). The client runs a plugin
 * for each call and waits for it without limit; this runs one at a time, for at most 10 s, and caches the credential
 * until it expires.
 */
export function replacePlugins(config: KubeConfig, run: RunPlugin): void {
  for (const user of config.users) {
    const exec = readExec(user)
    if (exec === undefined) continue
    Object.assign(user, { exec: undefined })
    const credential = createCredentialSource(exec, run)
    config.addAuthenticator({
      isAuthProvider: ({ name }) => name === user.name,
      async applyAuthentication(_, options) {
        apply(await credential(), options as RequestOptions)
      },
    })
  }
}

/** The plugin's credential: cached, from the current run, or from a new run. */
function createCredentialSource(plugin: PluginCommand, run: RunPlugin): () => Promise<Credential> {
  let known: Credential | undefined
  let running: Promise<Credential> | undefined
  const ask = async (): Promise<Credential> => {
    try {
      known = readCredential(await run(plugin, PLUGIN_MS))
      return known
    } catch (cause) {
      throw new ClusterError('unavailable', 'the credential plugin for the cluster failed', { cause })
    }
  }
  return async () => {
    if (known && Date.now() < known.untilMs) return known
    running ??= ask().finally(() => (running = undefined))
    return running
  }
}

function apply({ token, clientCertificateData, clientKeyData }: Credential, options: RequestOptions): void {
  if (token !== undefined) options.headers = { ...options.headers, Authorization: `Bearer ${token}` }
  if (clientCertificateData !== undefined) options.cert = clientCertificateData
  if (clientKeyData !== undefined) options.key = clientKeyData
}

function readExec({ exec }: User): PluginCommand | undefined {
  const { command, args, env, apiVersion } = (exec ?? {}) as {
    readonly command?: string
    readonly args?: readonly string[] | null
    readonly env?: readonly { readonly name: string; readonly value: string }[] | null
    readonly apiVersion?: string
  }
  if (command === undefined) return undefined
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } }
  const variables = (env ?? []).map(({ name, value }) => [name, value])
  return {
    command,
    args: args ?? [],
    env: { KUBERNETES_EXEC_INFO: JSON.stringify(info), ...Object.fromEntries(variables) },
  }
}

function readCredential(output: string): Credential {
  const { status } = JSON.parse(output) as { readonly status?: Readonly<Record<string, unknown>> }
  const text = (key: string): string | undefined => {
    const value = status?.[key]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const ends = Date.parse(text('expirationTimestamp') ?? '')
  const credential = {
    token: text('token'),
    clientCertificateData: text('clientCertificateData'),
    clientKeyData: text('clientKeyData'),
    untilMs: Number.isNaN(ends) ? Date.now() + UNDATED_MS : ends - MARGIN_MS,
  }
  if (credential.token !== undefined || credential.clientCertificateData !== undefined) return credential
  throw new Error('the credential plugin printed neither a token nor a certificate')
}
