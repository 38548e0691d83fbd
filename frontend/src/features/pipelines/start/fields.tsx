import { Autocomplete, Checkbox, Radio, SegmentedControl, Select, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { minRoleIn } from '../../../../../src/domain/environments.ts'
import { hasRole } from '../../../../../src/domain/roles.ts'
import { useMe } from '../../../api/session.ts'
import { StartFromFields } from '../../../components/start-from/start-from-fields.tsx'
import { Note } from '../../../components/status/note.tsx'
import { pipelines as words } from '../../../strings/pipelines/pipelines.ts'
import { tableNamesQuery } from '../../../api/tables.ts'
import { runnableQuery, versionsQuery } from '../api.ts'
import { monitorStore, useMonitor, usePipelineIds } from '../monitor/store.ts'
import classes from '../pipelines.module.css'
import { isCheckpointOf, isShown, proposeCheckpoint, sinkLayout, type StartForm } from './form.ts'
import { ModeFields } from './mode-fields.tsx'

interface FieldsProps {
  readonly form: UseFormReturnType<StartForm>
}

const SHOWN_OPTIONS = 50
const texts = words.form

/** The fields of the start form. */
export function StartFields({ form }: FieldsProps) {
  const { mode } = form.values
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label={texts.what}
        {...form.getInputProps('mode')}
        data={[
          { value: 'copy', label: texts.copy },
          { value: 'version', label: texts.version },
        ]}
      />
      {mode === 'copy' ? <CopyFields form={form} /> : <VersionFields form={form} />}
      <CheckpointField form={form} />
      <BeginFields form={form} />
      <TriggerField form={form} />
      {isShown('engine', form.values) && <EngineField form={form} />}
      <MoreFields form={form} />
    </Stack>
  )
}

function CopyFields({ form }: FieldsProps) {
  return (
    <>
      <TableFields form={form} />
      <ModeFields form={form} />
    </>
  )
}

function TableFields({ form }: FieldsProps) {
  const { source_table: source, sink_table: sink, create_sink_table: isCreated } = form.values
  const { data: names = [] } = useQuery(tableNamesQuery)
  const isMissing = sink !== '' && names.length > 0 && !names.includes(sink.trim())
  return (
    <>
      <div className={classes.pair}>
        <Autocomplete
          size="xs"
          label={texts.source}
          placeholder={texts.tablePlaceholder}
          required
          data={names}
          limit={SHOWN_OPTIONS}
          {...form.getInputProps('source_table')}
        />
        <Autocomplete
          size="xs"
          label={texts.sink}
          placeholder={texts.tablePlaceholder}
          required
          data={names.filter((name) => name !== source)}
          limit={SHOWN_OPTIONS}
          {...form.getInputProps('sink_table')}
        />
      </div>
      <p className={classes.help}>{texts.sinkHelp}</p>
      {(isMissing || isCreated) && (
        <Checkbox
          label={texts.createSink}
          description={texts.createSinkHelp[sinkLayout(form.values)]}
          {...form.getInputProps('create_sink_table', { type: 'checkbox' })}
        />
      )}
    </>
  )
}

function VersionFields({ form }: FieldsProps) {
  const { definition_id: definitionId, version_id: versionId } = form.values
  const { data: board } = useQuery(runnableQuery)
  const { data: versions = [] } = useQuery(versionsQuery(definitionId))
  const role = useMe()?.role ?? 'Auditor'
  const chosen = versions.find(({ id }) => id === versionId)
  return (
    <>
      <div className={classes.pair}>
        <Select
          label={texts.definition}
          placeholder={texts.definitionPlaceholder}
          required
          searchable
          limit={SHOWN_OPTIONS}
          data={(board?.definitions ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          value={definitionId === '' ? null : definitionId}
          onChange={(value) => form.setValues({ definition_id: value ?? '', version_id: '' })}
        />
        <Select
          label={texts.versionField}
          placeholder={texts.versionPlaceholder}
          required
          disabled={definitionId === ''}
          data={versions.map(({ id, version, environment }) => ({
            value: id,
            label: texts.versionOption(version, environment),
            disabled: environment === 'retired' || !hasRole(role, minRoleIn(environment)),
          }))}
          value={versionId === '' ? null : versionId}
          error={form.errors['version_id']}
          onChange={(value) => form.setFieldValue('version_id', value ?? '')}
        />
      </div>
      <p className={classes.help}>{texts.versionHelp}</p>
      {chosen && chosen.environment !== 'production' && (
        <Note tone="warn">{texts.notProduction(chosen.environment)}</Note>
      )}
    </>
  )
}

/** Proposes a folder until the user enters one. */
function CheckpointField({ form }: FieldsProps) {
  const { mode, sink_table: sink, definition_id: definitionId, checkpoint_location: location } = form.values
  const { is_proposed: isProposed } = form.values
  const { setFieldValue } = form
  useMonitor()
  usePipelineIds()
  const { data: board } = useQuery({ ...runnableQuery, enabled: mode === 'version' })
  const definition = board?.definitions.find(({ id }) => id === definitionId)
  const pipelines = [...monitorStore.rows.values()].map(({ pipeline }) => pipeline)
  const subject = mode === 'copy' ? sink : (definition?.name ?? '')
  const taken = pipelines.map((pipeline) => pipeline.checkpoint_location)
  const proposal = subject.trim() === '' ? '' : proposeCheckpoint(subject, taken)
  useEffect(() => {
    if (isProposed && proposal !== location) setFieldValue('checkpoint_location', proposal)
  }, [isProposed, location, proposal, setFieldValue])
  const known = pipelines.find((pipeline) => isCheckpointOf(pipeline, location))
  return (
    <Stack gap="xs">
      <TextInput
        label={texts.checkpoint}
        description={texts.checkpointHelp}
        required
        spellCheck={false}
        value={location}
        error={form.errors['checkpoint_location']}
        onChange={({ currentTarget: { value } }) => {
          setFieldValue('is_proposed', value === '')
          setFieldValue('checkpoint_location', value)
        }}
      />
      {known && <Note tone="warn">{texts.checkpointKnown(known.sink_table)}</Note>}
    </Stack>
  )
}

function BeginFields({ form }: FieldsProps) {
  const { errors } = form
  return (
    <StartFromFields
      choice={form.values}
      onChange={(part) => form.setValues(part)}
      description={texts.fromHelp}
      unset={texts.fromDefault}
      errors={{
        from: errors['from'],
        from_snapshot_id: errors['from_snapshot_id'],
        from_timestamp: errors['from_timestamp'],
        into_branch: errors['into_branch'],
      }}
    />
  )
}

function TriggerField({ form }: FieldsProps) {
  return (
    <TextInput
      label={texts.trigger}
      description={texts.triggerHelp}
      required
      {...form.getInputProps('trigger_interval')}
    />
  )
}

const ENGINES = ['auto', 'embedded', 'spark'] as const

function EngineField({ form }: FieldsProps) {
  const { engine } = form.values
  return (
    <Select
      label={texts.engine}
      description={texts.engineHelp}
      placeholder={texts.engineDefault}
      clearable
      data={ENGINES.map((value) => ({ value, label: texts.engines[value] }))}
      value={engine === '' ? null : engine}
      error={form.errors['engine']}
      onChange={(value) => form.setFieldValue('engine', ENGINES.find((one) => one === value) ?? '')}
    />
  )
}

function MoreFields({ form }: FieldsProps) {
  const canAddPolicies = hasRole(useMe()?.role ?? 'Auditor', 'LeadDataEngineer')
  return (
    <>
      {canAddPolicies && (
        <Checkbox
          label={texts.maintainSink}
          description={texts.maintainSinkHelp}
          {...form.getInputProps('maintain_sink', { type: 'checkbox' })}
        />
      )}
      {isShown('on_delete', form.values) && (
        <Radio.Group label={texts.onDelete} {...form.getInputProps('on_delete')}>
          <Stack gap="xs" mt="xs">
            <Radio size="xs" value="fail" label={texts.onDeleteFail} description={texts.onDeleteFailHelp} />
            <Radio size="xs" value="skip" label={texts.onDeleteSkip} description={texts.onDeleteSkipHelp} />
          </Stack>
        </Radio.Group>
      )}
      <div className={classes.pair}>
        <TextInput
          label={texts.maxFiles}
          description={texts.maxFilesHelp}
          inputMode="numeric"
          {...form.getInputProps('max_files_per_batch')}
        />
        <TextInput
          label={texts.maxMegabytes}
          description={texts.maxMegabytesHelp}
          inputMode="numeric"
          {...form.getInputProps('max_bytes_per_batch')}
        />
      </div>
    </>
  )
}
