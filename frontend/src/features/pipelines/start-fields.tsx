import { Autocomplete, Checkbox, Radio, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Note } from '../../components/note.tsx'
import { pipelines as words } from '../../strings/pipelines.ts'
import { tableNamesQuery } from '../../api/tables.ts'
import { runnableQuery, versionsQuery } from './api.ts'
import { monitorStore, useMonitor, usePipelineIds } from './monitor-store.ts'
import classes from './pipelines.module.css'
import { type FieldErrors, isCheckpointOf, proposeCheckpoint, type StartForm } from './start-form.ts'

interface FieldsProps {
  readonly form: StartForm
  readonly errors: FieldErrors
  readonly onChange: (part: Partial<StartForm>) => void
}

const SHOWN_OPTIONS = 50
const form = words.form

/** The fields of the start form. */
export function StartFields(props: FieldsProps) {
  const { form: filled, onChange } = props
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label={form.what}
        value={filled.mode}
        onChange={(mode) => onChange({ mode: mode === 'version' ? 'version' : 'copy' })}
        data={[
          { value: 'copy', label: form.copy },
          { value: 'version', label: form.version },
        ]}
      />
      {filled.mode === 'copy' ? <TableFields {...props} /> : <VersionFields {...props} />}
      <CheckpointField {...props} />
      <TriggerField {...props} />
      <MoreFields {...props} />
    </Stack>
  )
}

function TableFields({ form: { sourceTable, sinkTable, createSinkTable }, errors, onChange }: FieldsProps) {
  const { data: names = [] } = useQuery(tableNamesQuery)
  const isMissing = sinkTable !== '' && names.length > 0 && !names.includes(sinkTable.trim())
  return (
    <>
      <div className={classes.pair}>
        <Autocomplete
          size="xs"
          label={form.source}
          placeholder={form.tablePlaceholder}
          required
          data={names}
          limit={SHOWN_OPTIONS}
          value={sourceTable}
          error={errors.source_table}
          onChange={(value) => onChange({ sourceTable: value })}
        />
        <Autocomplete
          size="xs"
          label={form.sink}
          placeholder={form.tablePlaceholder}
          required
          data={names.filter((name) => name !== sourceTable)}
          limit={SHOWN_OPTIONS}
          value={sinkTable}
          error={errors.sink_table}
          onChange={(value) => onChange({ sinkTable: value })}
        />
      </div>
      <p className={classes.help}>{form.sinkHelp}</p>
      {(isMissing || createSinkTable) && (
        <Checkbox
          label={form.createSink}
          description={form.createSinkHelp}
          checked={createSinkTable}
          error={errors.create_sink_table}
          onChange={({ currentTarget }) => onChange({ createSinkTable: currentTarget.checked })}
        />
      )}
    </>
  )
}

function VersionFields({ form: { definitionId, versionId }, errors, onChange }: FieldsProps) {
  const { data: board } = useQuery(runnableQuery)
  const { data: versions = [] } = useQuery(versionsQuery(definitionId))
  const chosen = versions.find(({ id }) => id === versionId)
  return (
    <>
      <div className={classes.pair}>
        <Select
          label={form.definition}
          placeholder={form.definitionPlaceholder}
          required
          searchable
          limit={SHOWN_OPTIONS}
          data={(board?.definitions ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          value={definitionId === '' ? null : definitionId}
          onChange={(value) => onChange({ definitionId: value ?? '', versionId: '' })}
        />
        <Select
          label={form.versionField}
          placeholder={form.versionPlaceholder}
          required
          disabled={definitionId === ''}
          data={versions.map(({ id, version, environment }) => ({
            value: id,
            label: form.versionOption(version, environment),
          }))}
          value={versionId === '' ? null : versionId}
          error={errors.version_id}
          onChange={(value) => onChange({ versionId: value ?? '' })}
        />
      </div>
      <p className={classes.help}>{form.versionHelp}</p>
      {chosen && chosen.environment !== 'production' && (
        <Note tone="warn">{form.notProduction(chosen.environment)}</Note>
      )}
    </>
  )
}

/** Proposes a folder for as long as nobody typed one. */
function CheckpointField({ form: filled, errors, onChange }: FieldsProps) {
  useMonitor()
  usePipelineIds()
  const { data: board } = useQuery({ ...runnableQuery, enabled: filled.mode === 'version' })
  const definition = board?.definitions.find(({ id }) => id === filled.definitionId)
  const pipelines = [...monitorStore.rows.values()].map(({ pipeline }) => pipeline)
  const subject = filled.mode === 'copy' ? filled.sinkTable : (definition?.name ?? '')
  const taken = pipelines.map(({ checkpoint_location: location }) => location)
  const proposal = subject.trim() === '' ? '' : proposeCheckpoint(subject, taken)
  useEffect(() => {
    if (filled.isProposed && proposal !== filled.checkpointLocation) onChange({ checkpointLocation: proposal })
  }, [filled.isProposed, filled.checkpointLocation, proposal, onChange])
  const known = pipelines.find((pipeline) => isCheckpointOf(pipeline, filled.checkpointLocation))
  return (
    <Stack gap="xs">
      <TextInput
        label={form.checkpoint}
        description={form.checkpointHelp}
        required
        spellCheck={false}
        value={filled.checkpointLocation}
        error={errors.checkpoint_location}
        onChange={({ currentTarget: { value } }) => onChange({ checkpointLocation: value, isProposed: value === '' })}
      />
      {known && <Note tone="warn">{form.checkpointKnown(known.sink_table)}</Note>}
    </Stack>
  )
}

function TriggerField({ form: { triggerInterval }, errors, onChange }: FieldsProps) {
  return (
    <TextInput
      label={form.trigger}
      description={form.triggerHelp}
      required
      value={triggerInterval}
      error={errors.trigger_interval}
      onChange={({ currentTarget }) => onChange({ triggerInterval: currentTarget.value })}
    />
  )
}

function MoreFields({ form: { onDelete, maxFiles, maxMegabytes }, errors, onChange }: FieldsProps) {
  return (
    <>
      <Radio.Group
        label={form.onDelete}
        value={onDelete}
        error={errors.on_delete}
        onChange={(value) => onChange({ onDelete: value === 'skip' ? 'skip' : 'fail' })}
      >
        <Stack gap="xs" mt="xs">
          <Radio size="xs" value="fail" label={form.onDeleteFail} description={form.onDeleteFailHelp} />
          <Radio size="xs" value="skip" label={form.onDeleteSkip} description={form.onDeleteSkipHelp} />
        </Stack>
      </Radio.Group>
      <div className={classes.pair}>
        <TextInput
          label={form.maxFiles}
          description={form.maxFilesHelp}
          inputMode="numeric"
          value={maxFiles}
          error={errors.max_files_per_batch}
          onChange={({ currentTarget }) => onChange({ maxFiles: currentTarget.value })}
        />
        <TextInput
          label={form.maxMegabytes}
          description={form.maxMegabytesHelp}
          inputMode="numeric"
          value={maxMegabytes}
          error={errors.max_bytes_per_batch}
          onChange={({ currentTarget }) => onChange({ maxMegabytes: currentTarget.value })}
        />
      </div>
    </>
  )
}
