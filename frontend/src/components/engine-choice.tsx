import { Text } from '@mantine/core'
import { ONLY_EMBEDDED } from '../../../src/domain/tables/operations.ts'
import { operations as words } from '../strings/everywhere/common.ts'

interface EngineChoiceProps {
  /** A preview or result of an operation (`details_json`). */
  readonly details: unknown
}

/** The engine of an operation, and why it was chosen; nothing where there is no choice, as without Spark. */
export function EngineChoice({ details }: EngineChoiceProps) {
  if (typeof details !== 'object' || details === null) return null
  const { engine, engine_reason: reason } = details as Readonly<Record<string, unknown>>
  if ((engine !== 'embedded' && engine !== 'spark') || reason === ONLY_EMBEDDED) return null
  return (
    <Text size="sm" c="dimmed">
      {words.engine(words.engines[engine], String(reason))}
    </Text>
  )
}
