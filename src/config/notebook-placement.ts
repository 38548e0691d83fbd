import { z } from 'zod'
import { fromEnv, listOf, parsed, shown, variable } from './variables.ts'

/** Where notebooks run in the cluster, and as which user. */
export interface NotebookPlacement {
  /** `NOTEBOOK_PULL_SECRETS`: names of secrets for pulling images, in the namespace of notebooks. */
  readonly pullSecrets: readonly string[]
  /** `NOTEBOOK_NODE_SELECTOR`: labels that a node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>
  /** `NOTEBOOK_TOLERATIONS`: node taints that notebooks tolerate. */
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
  readonly effect: (typeof EFFECTS)[number]
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const LABEL_KEY = String.raw`(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?`
const LABEL_VALUE = String.raw`(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?`
const SELECTOR = new RegExp(`^(?<key>${LABEL_KEY})=(?<value>${LABEL_VALUE})$`)
const TOLERATION = new RegExp(`^(?<key>${LABEL_KEY})(?:=(?<value>${LABEL_VALUE}))?:(?<effect>${EFFECTS.join('|')})$`)
const MAX_ID = 2_147_483_647
/** Jupyter's images run as `jovyan` (1000) of group `users` (100). */
const JOVYAN = '1000:100'

const runAs = z.string().transform((text, context): NotebookPlacement['runAs'] => {
  if (text === 'cluster') return undefined
  const [, user = '0', group = '0'] = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(text) ?? []
  const ids = { user: Number(user), group: Number(group) }
  if (ids.user > 0 && ids.user <= MAX_ID && ids.group <= MAX_ID) return ids
  const rule = 'must be cluster, or the ids of a user and a group other than root, such as 1000:100'
  context.addIssue(`${rule}, not ${JSON.stringify(text)}`)
  return z.NEVER
})

/** Parses the placement settings of notebooks. */
export const notebookPlacement = fromEnv({
  pullSecrets: variable(
    'NOTEBOOK_PULL_SECRETS',
    listOf(z.string().regex(NAME, shown('must be comma-separated names of secrets'))).default([]),
  ),
  nodeSelector: variable(
    'NOTEBOOK_NODE_SELECTOR',
    listOf(parsed(label, 'must be comma-separated labels, such as pool=notebooks'))
      .default([])
      .transform((labels) => Object.fromEntries(labels)),
  ),
  tolerations: variable(
    'NOTEBOOK_TOLERATIONS',
    listOf(parsed(toleration, 'must be comma-separated taints, such as dedicated=notebooks:NoSchedule')).default([]),
  ),
  priorityClass: variable(
    'NOTEBOOK_PRIORITY_CLASS',
    z
      .string()
      .refine(
        (name) => NAME.test(name) && !name.startsWith('system-'),
        shown('must be the name of a priority class that does not start with system-'),
      )
      .optional(),
  ),
  runAs: variable('NOTEBOOK_RUN_AS', runAs.prefault(JOVYAN)),
}) satisfies z.ZodType<NotebookPlacement>

function label(entry: string): readonly [string, string] | undefined {
  const { key, value } = SELECTOR.exec(entry)?.groups ?? {}
  return key === undefined || value === undefined ? undefined : [key, value]
}

function toleration(entry: string): NotebookToleration | undefined {
  const { key, value, effect } = TOLERATION.exec(entry)?.groups ?? {}
  const known = EFFECTS.find((one) => one === effect)
  return key === undefined || known === undefined ? undefined : { key, value, effect: known }
}
