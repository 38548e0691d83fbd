import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { numberIn } from '../../components/form/number-in.ts'
import { formatBytes } from '../../strings/everywhere/units.ts'
import { environmentForm as words, environmentStrings } from '../../strings/environments.ts'
import type { EnvironmentForm } from './form.ts'
import { ParameterRows } from './parameter-rows.tsx'
import { RuleFields } from './rule-fields.tsx'
import classes from './environments.module.css'

const MODES = ['manual', 'on_arrival'] as const

/** The fields of the form of an environment. */
export function EnvironmentFields({ form }: { readonly form: UseFormReturnType<EnvironmentForm> }) {
  const { deploy, defaults } = form.values
  const bytes = numberIn(defaults.max_bytes_per_batch)
  const labels = environmentStrings.fields
  return (
    <>
      <ParameterRows form={form} />
      <Textarea
        label={environmentStrings.writes}
        description={words.writesHelp}
        autosize
        minRows={2}
        spellCheck={false}
        {...form.getInputProps('writes')}
      />
      <NativeSelect
        label={environmentStrings.deploy}
        description={environmentStrings.deployHelp[deploy]}
        data={MODES.map((value) => ({ value, label: environmentStrings.deployModes[value] }))}
        {...form.getInputProps('deploy')}
      />
      <fieldset className={classes.fieldset}>
        <legend>{environmentStrings.defaults}</legend>
        <div className={classes.defaults}>
          <TextInput
            label={labels.trigger_interval}
            description={words.intervalHelp}
            required
            {...form.getInputProps('defaults.trigger_interval')}
          />
          <TextInput
            label={labels.checkpoint_root}
            description={words.checkpointHelp}
            required
            {...form.getInputProps('defaults.checkpoint_root')}
          />
          <TextInput
            label={labels.max_files_per_batch}
            inputMode="numeric"
            required
            {...form.getInputProps('defaults.max_files_per_batch')}
          />
          <TextInput
            label={labels.max_bytes_per_batch}
            description={bytes === undefined || Number.isNaN(bytes) ? undefined : words.bytes(formatBytes(bytes))}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            inputMode="numeric"
            required
            {...form.getInputProps('defaults.max_bytes_per_batch')}
          />
        </div>
      </fieldset>
      <RuleFields form={form} />
    </>
  )
}
