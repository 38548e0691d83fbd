import type { ConfigField } from './config-fields.ts'

/** A field of a node's config, with its value. */
export interface ConfigInputProps {
  readonly field: ConfigField
  readonly value: unknown
  readonly inputs: readonly string[]
  /** Tables whose columns may be meant. */
  readonly tables: readonly string[]
  readonly readOnly: boolean
  readonly onChange: (value: unknown) => void
}
