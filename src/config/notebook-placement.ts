import { ConfigError } from './config-error.ts'
import type { Env } from './env.ts'

/** Where notebooks run in the cluster, and as whom. */
export interface NotebookPlacement {
  /** `NOTEBOOK_PULL_SECRETS`: secrets in the namespace of notebooks with which images are pulled. */
  readonly pullSecrets: readonly string[]
  /** `NOTEBOOK_NODE_SELECTOR`: labels that a node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>
  /** `NOTEBOOK_TOLERATIONS`: taints of nodes that do not keep notebooks away. */
  readonly tolerations: readonly NotebookToleration[]
  /** `NOTEBOOK_PRIORITY_CLASS`; undefined: the cluster's default. */
  readonly priorityClass: string | undefined
  /** `NOTEBOOK_RUN_AS`: user and group ids; undefined: the cluster chooses them, as OpenShift does. */
  readonly runAs: { readonly user: number; readonly group: number } | undefined
}

export interface NotebookToleration {
  readonly key: string
  /** Undefined: any value. */
  readonly value: string | undefined
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const LABEL_KEY = String.raw`(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?`
const LABEL_VALUE = String.raw`(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?`
const SELECTOR = new RegExp(`^(?<key>${LABEL_KEY})=(?<value>${LABEL_VALUE})$`)
const TOLERATION = new RegExp(
  `^(?<key>${LABEL_KEY})(?:=(?<value>${LABEL_VALUE}))?:(?<effect>NoSchedule|PreferNoSchedule|NoExecute)$`,
)
const MAX_ID = 2_147_483_647
/** Jupyter's images run as `jovyan` (1000) of group `users` (100). */
const JOVYAN = { user: 1000, group: 100 }

/** Reads where notebooks run and as whom; throws {@link ConfigError} on a wrong value. */
export function notebookPlacement(env: Env): NotebookPlacement {
  return {
    pullSecrets: entries(env, 'NOTEBOOK_PULL_SECRETS').map((name) => {
      return NAME.test(name) ? name : refuse('NOTEBOOK_PULL_SECRETS', 'names of secrets', name)
    }),
    nodeSelector: Object.fromEntries(
      entries(env, 'NOTEBOOK_NODE_SELECTOR').map((entry) => {
        const { key, value } = SELECTOR.exec(entry)?.groups ?? {}
        if (key !== undefined && value !== undefined) return [key, value]
        return refuse('NOTEBOOK_NODE_SELECTOR', 'labels such as pool=notebooks', entry)
      }),
    ),
    tolerations: entries(env, 'NOTEBOOK_TOLERATIONS').map(toleration),
    priorityClass: priorityClass(env),
    runAs: runAs(env),
  }
}

function toleration(entry: string): NotebookToleration {
  const { key, value, effect } = TOLERATION.exec(entry)?.groups ?? {}
  if (key === undefined || effect === undefined) {
    return refuse('NOTEBOOK_TOLERATIONS', 'taints such as dedicated=notebooks:NoSchedule', entry)
  }
  return { key, value, effect: effect as NotebookToleration['effect'] }
}

function priorityClass(env: Env): string | undefined {
  const name = env['NOTEBOOK_PRIORITY_CLASS']
  if (name === undefined || (NAME.test(name) && !name.startsWith('system-'))) return name
  throw new ConfigError(
    `NOTEBOOK_PRIORITY_CLASS must be the name of a priority class, and not one of the system's, not ${JSON.stringify(name)}`,
  )
}

function runAs(env: Env): NotebookPlacement['runAs'] {
  const text = env['NOTEBOOK_RUN_AS']
  if (text === undefined) return JOVYAN
  if (text === 'cluster') return undefined
  const [, user = '0', group = '0'] = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(text) ?? []
  const ids = { user: Number(user), group: Number(group) }
  if (ids.user > 0 && ids.user <= MAX_ID && ids.group <= MAX_ID) return ids
  throw new ConfigError(
    `NOTEBOOK_RUN_AS must be cluster, or the ids of a user and a group other than root, such as 1000:100, not ${JSON.stringify(text)}`,
  )
}

function entries(env: Env, name: string): string[] {
  const text = env[name]
  return text === undefined ? [] : text.split(',').map((entry) => entry.trim())
}

function refuse(name: string, what: string, entry: string): never {
  throw new ConfigError(`${name} must be ${what}, joined by commas, not ${JSON.stringify(entry)}`)
}
