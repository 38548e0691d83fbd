import { Checkbox, Select, Stack, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { startFromStrings as words } from '../../strings/pipelines/start-from.ts'
import { useZone } from '../../time/time-settings.ts'
import { fromTimeInput, toTimeInput } from '../../time/zone.ts'
import { START_KINDS, type StartChoice } from './start-choice.ts'

interface StartFromFieldsProps {
  readonly choice: StartChoice
  readonly onChange: (part: Partial<StartChoice>) => void
  readonly description: string
  /** What an empty choice means. */
  readonly unset: string
  /** Messages by field. */
  readonly errors: Readonly<Partial<Record<keyof StartChoice, ReactNode>>>
}

/** The choice where a pipeline begins to read, with the fields that it needs. */
export function StartFromFields({ choice, onChange, description, unset, errors }: StartFromFieldsProps) {
  const zone = useZone()
  return (
    <Stack gap="xs">
      <Select
        label={words.label}
        description={description}
        placeholder={unset}
        clearable
        data={START_KINDS.map((value) => ({ value, label: words.kinds[value] }))}
        value={choice.from === '' ? null : choice.from}
        error={errors.from}
        onChange={(value) => onChange({ from: START_KINDS.find((kind) => kind === value) ?? '' })}
      />
      {choice.from === 'snapshot' && (
        <TextInput
          label={words.snapshot}
          description={words.snapshotHelp}
          required
          inputMode="numeric"
          spellCheck={false}
          autoComplete="off"
          value={choice.from_snapshot_id}
          error={errors.from_snapshot_id}
          onChange={(event) => onChange({ from_snapshot_id: event.currentTarget.value })}
        />
      )}
      {choice.from === 'time' && (
        <TextInput
          label={words.time(zone)}
          description={words.timeHelp}
          required
          type="datetime-local"
          step={1}
          value={toTimeInput(choice.from_timestamp, zone)}
          error={errors.from_timestamp}
          onChange={(event) => onChange({ from_timestamp: fromTimeInput(event.currentTarget.value, zone) ?? '' })}
        />
      )}
      {choice.from !== '' && <BranchFields choice={choice} onChange={onChange} errors={errors} />}
    </Stack>
  )
}

/** The branch that gets the rows first. */
function BranchFields({ choice, onChange, errors }: Pick<StartFromFieldsProps, 'choice' | 'onChange' | 'errors'>) {
  return (
    <>
      <TextInput
        label={words.branch}
        description={words.branchHelp}
        spellCheck={false}
        autoComplete="off"
        value={choice.into_branch}
        error={errors.into_branch}
        onChange={(event) => onChange({ into_branch: event.currentTarget.value })}
      />
      {choice.into_branch !== '' && (
        <Checkbox
          label={words.publish}
          description={words.publishHelp}
          checked={choice.is_published}
          onChange={(event) => onChange({ is_published: event.currentTarget.checked })}
        />
      )}
    </>
  )
}
