import { Radio, Stack } from '@mantine/core'
import type { DeployCheckpoint } from '../../../../src/domain/deployments.ts'
import type { DeploymentPlan } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { knownRowsStrings as words } from '../../strings/deployments.ts'

/** What to do about rows that the sink has already; undefined: what the service does by default. */
export type RowsChoice = Exclude<DeployCheckpoint, 'continue'> | undefined

interface RowsOfSinkProps {
  readonly rows: NonNullable<DeploymentPlan['known_rows']>
  readonly choice: RowsChoice
  readonly onChoose: (choice: RowsChoice) => void
}

/** The choice between reading on after the rows that the sink has, and writing them again. */
export function RowsOfSink({ rows, choice, onChoose }: RowsOfSinkProps) {
  const { handling, rows: count, source_tables: tables, can_resume: canResume } = rows
  const selected = choice ?? (handling === 'resumed' ? 'resume' : null)
  return (
    <Stack gap="xs">
      {handling !== 'resumed' && (
        <Notice tone={handling === 'blocked' ? 'warn' : 'bad'}>{words.notice[handling](count, tables)}</Notice>
      )}
      <Radio.Group
        label={words.label}
        description={words.has(count, tables)}
        value={selected}
        onChange={(value) => onChoose(value === 'fresh' ? 'fresh' : 'resume')}
      >
        <Stack gap="xs" mt="xs">
          <Radio
            value="resume"
            label={words.resume}
            description={canResume ? words.resumeHelp : words.cannotResume}
            disabled={!canResume}
          />
          <Radio value="fresh" label={words.fresh(count)} description={words.freshHelp} />
        </Stack>
      </Radio.Group>
    </Stack>
  )
}
