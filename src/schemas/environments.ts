import { z } from 'zod'
import { RUN_ENVIRONMENTS } from '../domain/environments.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../domain/pipelines/trigger-interval.ts'
import { ENGINES } from './tables/maintenance.ts'
import { managedBy, NO_CONTROL_CHARACTERS, timestamp } from './common.ts'
import { changeWindow, changeWindowRequest } from './windows.ts'
import type { Wire } from './wire.ts'

/** An environment in which versions run. */
export const runEnvironment = z.enum(RUN_ENVIRONMENTS).meta({ id: 'RunEnvironment' })

export const environmentParams = z.strictObject({ environment: runEnvironment })

/** Query of a validation. */
export const environmentQuery = z.strictObject({
  environment: runEnvironment.optional().meta({
    description:
      "Whose parameters to use; default: the version's own, production for a retired one, development for a graph",
  }),
})

const MAX_PARAMETERS = 200
const MAX_WRITES = 200

const parameterName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'must be a letter or _, then letters, digits or _, at most 63 characters')

// oxlint-disable-next-line no-control-regex -- NUL is what it refuses
const PARAMETER_TEXT = /^(?!env:)[^\u0000]*$|^env:[A-Za-z_][A-Za-z0-9_]{0,254}$/

const parameterText = z
  .string()
  .max(2000)
  .regex(PARAMETER_TEXT, 'must not contain NUL, and env: must be followed by the name of a variable')
  .refine((text) => text.isWellFormed(), 'must be valid text')

const parameters = z
  .record(parameterName, z.union([parameterText, z.number(), z.boolean()]))
  .refine((given) => Object.keys(given).length <= MAX_PARAMETERS, `at most ${MAX_PARAMETERS} parameters`)
  .meta({
    maxProperties: MAX_PARAMETERS,
    description:
      'Values of `${name}` in configs of nodes. `"env:NAME"` is a secret: a variable of the server, for names that start with `LAKE_` or are listed in `CONFIG_ENV_ALLOW`; its value is never shown',
    example: { schema: 'sales', min_amount: 10, api_key: 'env:LAKE_API_KEY' },
  })

const writes = z
  .array(z.string().min(1).max(1000).regex(NO_CONTROL_CHARACTERS, 'must not contain control characters'))
  .max(MAX_WRITES)
  .meta({
    description:
      'Tables that versions may write here. `*` stands for any characters, dots included; everything else for itself',
    example: ['sales.*'],
  })

/** When a version that arrives in an environment is deployed. */
export const deployMode = z.enum(['manual', 'on_arrival']).meta({
  description: 'Whether a version that arrives is deployed at once',
})

const defaultFields = {
  trigger_interval: z
    .string()
    .max(100)
    .refine((text) => parseTriggerInterval(text) !== undefined, TRIGGER_RULE)
    .meta({
      description: 'Number and unit (ms, s, min, h), from 100 ms to 24 h',
      example: '5 seconds',
      pattern:
        '^([1-9][0-9]{2,6} ms|[1-9][0-9]{0,3} (s|sec|seconds?)|[1-9][0-9]{0,2} (m|min|minutes?)|([1-9]|1[0-9]|2[0-4]) (h|hours?))$',
    }),
  checkpoint_root: z
    .string()
    .min(1)
    .max(800)
    .regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')
    .meta({ description: 'Folder of checkpoints, as `checkpoint_location`', example: 'checkpoints' }),
  max_files_per_batch: z.int().min(1).max(1_000_000),
  max_bytes_per_batch: z.int().min(1),
  engine: z.enum(ENGINES),
}

const defaults = z.strictObject(defaultFields).meta({ description: 'Options of deployed pipelines' })

const MAX_WINDOWS = 20

const duration = z
  .string()
  .max(40)
  .regex(/^[1-9]\d{0,3} (second|minute|hour|day)s?$/, 'must be a number and a unit, such as 15 minutes or 2 days')

const ruleFields = {
  required: z.int().min(1).max(5).meta({ description: 'Approvals of different users' }),
  forbid_self: z.boolean().meta({ description: 'The requester must not decide' }),
  expires_after: duration.nullable().meta({
    description: 'Time after which a request without enough approvals is rejected as `expired`; null: never',
    example: '3 days',
  }),
}

const RULE = 'What a request to move a version here needs; null where moves need no approval'

const approvals = z.strictObject(ruleFields).nullable().meta({ description: RULE })

const approvalsRequest = z
  .strictObject({
    ...ruleFields,
    forbid_self: ruleFields.forbid_self.default(false),
    expires_after: ruleFields.expires_after.default(null),
  })
  .nullable()
  .meta({ description: 'Only for uat and production. Null: one approval, no other rule' })

const WINDOWS =
  'When versions may move here and be deployed. Changes wait while a `deny` window is open, and while no `allow` window is open if there are any'

const windows = z.array(changeWindow).max(MAX_WINDOWS).meta({ description: WINDOWS })

const rollbackFields = {
  lag_over: duration
    .nullable()
    .meta({ description: 'Lag of the source that is furthest behind', example: '15 minutes' }),
  failed_batches: z.int().min(1).max(100).nullable().meta({ description: 'Failed batches in a row' }),
  within: duration.meta({ description: 'Time after the end of the rollout, at most 7 days', example: '1 hour' }),
}

const rollbackIf = z.strictObject(rollbackFields).nullable().meta({
  description: 'A deployment that replaced another version is rolled back when one of these is true; null: never',
})

const rollbackIfRequest = z
  .strictObject({
    lag_over: rollbackFields.lag_over.default(null),
    failed_batches: rollbackFields.failed_batches.default(null),
    within: rollbackFields.within,
  })
  .nullable()

const ruleSettings = { approvals, windows, rollback_if: rollbackIf }

const settingFields = { parameters, writes, deploy: deployMode, defaults }

/** Settings of an environment. */
const environmentSettings = z.strictObject({ ...settingFields, ...ruleSettings })

/** Members that are absent stay as they are; all but `defaults` are replaced as a whole. */
export const setEnvironmentRequest = z
  .strictObject({
    ...settingFields,
    defaults: z.strictObject(defaultFields).partial(),
    approvals: approvalsRequest,
    windows: z.array(changeWindowRequest).max(MAX_WINDOWS).meta({ description: WINDOWS }),
    rollback_if: rollbackIfRequest,
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'must have at least one member')
  .meta({ id: 'SetEnvironmentRequest', minProperties: 1 })

/** An environment as the API shows it. */
export const environmentView = z
  .object({
    environment: runEnvironment,
    ...settingFields,
    ...ruleSettings,
    managed_by: managedBy,
    revision: z.int().min(0).meta({ description: 'The value for `If-Match`, in quotes; 0: never changed' }),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'EnvironmentSettings' })

export const environmentList = z.array(environmentView)

export type EnvironmentSettings = z.infer<typeof environmentSettings>
export type SetEnvironmentRequest = z.infer<typeof setEnvironmentRequest>
export type RollbackSettings = NonNullable<EnvironmentSettings['rollback_if']>
export type EnvironmentView = Wire<typeof environmentView>
