import { numberIn } from '../../../components/form/number-in.ts'
import { type AddProblem, formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { requestedBranch, requestedStart } from '../../../components/start-from/start-choice.ts'
import { startPipelineRequest } from '../../../components/form/schemas.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../../../../../src/domain/pipelines/trigger-interval.ts'
import type { StartPipelineRequest } from '../../../api/types.ts'
import { pipelines } from '../../../strings/pipelines/pipelines.ts'
import { startFromStrings } from '../../../strings/pipelines/start-from.ts'
import { isPlainCopy, isShown, type StartForm } from './form.ts'

const MEBIBYTE = 2 ** 20

/** Both are always sent: without them, a pipeline that is started again keeps its own. */
function modesOf(form: StartForm): Partial<StartPipelineRequest> {
  const { read, write, key, on_schema_change: change } = form
  const hasKey = isShown('key', form) && key.length > 0
  return {
    read,
    write,
    ...(hasKey ? { key: [...key] } : {}),
    ...(change === '' ? {} : { on_schema_change: change }),
  }
}

/** Only the embedded engine follows changes and merges rows. */
function engineOf(form: StartForm): Pick<StartPipelineRequest, 'engine'> {
  if (!isPlainCopy(form)) return { engine: 'embedded' }
  return form.engine === '' ? {} : { engine: form.engine }
}

/** What to run: a version, or a copy with its modes. */
function whatOf(form: StartForm): Partial<StartPipelineRequest> {
  if (form.mode === 'version') return { version_id: form.version_id }
  return {
    source_table: form.source_table.trim(),
    sink_table: form.sink_table.trim(),
    ...modesOf(form),
    ...(form.create_sink_table ? { create_sink_table: true } : {}),
  }
}

/** Reports what the schema of the request cannot find. */
function addProblems(form: StartForm, addProblem: AddProblem): void {
  const [source, sink] = [form.source_table.trim(), form.sink_table.trim()]
  if (form.mode === 'copy' && sink !== '' && sink === source) addProblem('sink_table', pipelines.form.sameTable)
  if (isShown('key', form) && form.write !== 'append' && form.key.length === 0) {
    addProblem('key', pipelines.form.keyMissing)
  }
  if (parseTriggerInterval(form.trigger_interval.trim()) === undefined) addProblem('trigger_interval', TRIGGER_RULE)
}

/** Checks the start form and makes the request to start a pipeline; fields with their default are left out. */
export const startSchema: FormSchema<StartForm, StartPipelineRequest> = formSchema(
  startPipelineRequest,
  (form: StartForm, addProblem) => {
    addProblems(form, addProblem)
    const maxFiles = numberIn(form.max_files_per_batch)
    const maxMebibytes = numberIn(form.max_bytes_per_batch)
    return {
      ...whatOf(form),
      checkpoint_location: form.checkpoint_location.trim(),
      trigger_interval: form.trigger_interval.trim(),
      ...beginIn(form, addProblem),
      ...(form.maintain_sink ? { maintain_sink: true } : {}),
      ...(form.on_delete === 'skip' && isShown('on_delete', form) ? { on_delete: form.on_delete } : {}),
      ...engineOf(form),
      ...(maxFiles === undefined ? {} : { max_files_per_batch: maxFiles }),
      ...(maxMebibytes === undefined ? {} : { max_bytes_per_batch: maxMebibytes * MEBIBYTE }),
    }
  },
)

/** Where the pipeline begins to read, and the branch that it fills first. */
function beginIn(form: StartForm, addProblem: AddProblem): Pick<StartPipelineRequest, 'from' | 'into_branch'> {
  const from = requestedStart(form)
  const branch = requestedBranch(form)
  if (from === 'incomplete') {
    if (form.from === 'snapshot') addProblem('from_snapshot_id', startFromStrings.missingSnapshot)
    else addProblem('from_timestamp', startFromStrings.missingTime)
    return {}
  }
  return { ...(from === undefined ? {} : { from }), ...(branch === undefined ? {} : { into_branch: branch }) }
}
