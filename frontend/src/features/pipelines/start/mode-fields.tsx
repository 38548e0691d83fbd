import { Radio, Select, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { READ_MODES, SCHEMA_CHANGES, WRITE_MODES } from '../../../../../src/domain/pipelines/modes.ts'
import { columnsQuery, tableNamesQuery } from '../../../api/tables.ts'
import { KeyField } from '../../../components/form/key-field.tsx'
import { Note } from '../../../components/status/note.tsx'
import { pipelines as words } from '../../../strings/pipelines/pipelines.ts'
import { isShown, lacksChanges, type StartForm } from './form.ts'

const texts = words.form

interface FieldsProps {
  readonly form: UseFormReturnType<StartForm>
}

/** What a copy reads, how it writes, and the key of its rows. */
export function ModeFields({ form }: FieldsProps) {
  return (
    <>
      <Radio.Group label={texts.read} {...form.getInputProps('read')}>
        <Stack gap="xs" mt="xs">
          {READ_MODES.map((mode) => (
            <Radio size="xs" key={mode} value={mode} label={texts.reads[mode]} description={texts.readHelp[mode]} />
          ))}
        </Stack>
      </Radio.Group>
      <Radio.Group label={texts.write} {...form.getInputProps('write')}>
        <Stack gap="xs" mt="xs">
          {WRITE_MODES.map((mode) => (
            <Radio size="xs" key={mode} value={mode} label={texts.writes[mode]} description={texts.writeHelp[mode]} />
          ))}
        </Stack>
      </Radio.Group>
      <ChangesNote values={form.values} />
      {isShown('key', form.values) && <RowKey form={form} />}
      <NewColumns form={form} />
    </>
  )
}

/** A mirror applies deletes, so something has to say which rows are deleted. */
function ChangesNote({ values }: { readonly values: StartForm }) {
  const { data: names = [] } = useQuery(tableNamesQuery)
  const source = values.source_table.trim()
  const { data } = useQuery({ ...columnsQuery(source), enabled: names.includes(source) })
  return lacksChanges(values, data?.columns) ? <Note tone="warn">{texts.mirrorNeedsChanges}</Note> : null
}

/** Columns of the sink if it exists, else those that it will get from the source. */
function RowKey({ form }: FieldsProps) {
  const { data: names = [] } = useQuery(tableNamesQuery)
  const { source_table: source, sink_table: sink, write } = form.values
  const table = names.includes(sink.trim()) && write !== 'append' ? sink.trim() : source.trim()
  return (
    <KeyField
      label={texts.key}
      description={write === 'append' ? texts.keyOfChangesHelp : texts.keyHelp}
      required={write !== 'append'}
      tables={names.includes(table) ? [table] : []}
      value={[...form.values.key]}
      error={form.errors['key']}
      onChange={(key) => form.setFieldValue('key', key)}
    />
  )
}

function NewColumns({ form }: FieldsProps) {
  const { on_schema_change: change } = form.values
  return (
    <Select
      label={texts.newColumns}
      placeholder={texts.newColumnsDefault}
      clearable
      data={SCHEMA_CHANGES.map((value) => ({ value, label: texts.newColumnsDo[value] }))}
      value={change === '' ? null : change}
      error={form.errors['on_schema_change']}
      onChange={(value) => form.setFieldValue('on_schema_change', SCHEMA_CHANGES.find((one) => one === value) ?? '')}
    />
  )
}
