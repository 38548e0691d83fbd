import { numberIn } from '../../../components/form/number-in.ts'
import { type AddProblem, formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { requestedBranch, requestedStart } from '../../../components/start-from/start-choice.ts'
import { startPipelineRequest } from '../../../components/form/schemas.ts'
import { parseTriggerInterval, TRIGGER_RULE } from '../../../../../src/domain/pipelines/trigger-interval.ts'
import type { StartPipelineRequest } from '../../../api/types.ts'
import { pipelines } from '../../../strings/pipelines.ts'
import { startFromStrings } from '../../../strings/start-from.ts'
import type { StartForm } from './form.ts'

const MEBIBYTE = 2 ** 20

/** Checks the start form and makes the request to start a pipeline; fields with their default are left out. */
export const startSchema: FormSchema<StartForm, StartPipelineRequest> = formSchema(
  startPipelineRequest,
  (form: StartForm, addProblem) => {
    const [source, sink] = [form.source_table.trim(), form.sink_table.trim()]
    if (form.mode === 'copy' && sink !== '' && sink === source) addProblem('sink_table', pipelines.form.sameTable)
    const trigger = form.trigger_interval.trim()
    if (parseTriggerInterval(trigger) === undefined) addProblem('trigger_interval', TRIGGER_RULE)
    const maxFiles = numberIn(form.max_files_per_batch)
    const maxMebibytes = numberIn(form.max_bytes_per_batch)
    return {
      ...(form.mode === 'version'
        ? { version_id: form.version_id }
        : {
            source_table: source,
            sink_table: sink,
            ...(form.create_sink_table ? { create_sink_table: true } : {}),
          }),
      checkpoint_location: form.checkpoint_location.trim(),
      trigger_interval: trigger,
      ...beginIn(form, addProblem),
      ...(form.on_delete === 'skip' ? { on_delete: form.on_delete } : {}),
      ...(form.engine === '' ? {} : { engine: form.engine }),
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
