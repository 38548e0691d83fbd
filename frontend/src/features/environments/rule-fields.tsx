import { Checkbox, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { environmentForm, environmentRules as rules } from '../../strings/environments.ts'
import type { EnvironmentForm } from './form.ts'
import { WindowRows } from './window-rows.tsx'
import classes from './environments.module.css'

const words = environmentForm.rules

/** The fields for approvals, windows and rollbacks. */
export function RuleFields({ form }: { readonly form: UseFormReturnType<EnvironmentForm> }) {
  return (
    <>
      {form.values.approvals.on && <ApprovalFields form={form} />}
      <WindowRows form={form} />
      <fieldset className={classes.fieldset}>
        <legend>{rules.rollback}</legend>
        <p className={classes.help}>{words.rollbackHelp}</p>
        <div className={classes.defaults}>
          <TextInput
            label={words.failedBatches}
            description={words.failedBatchesHelp}
            inputMode="numeric"
            {...form.getInputProps('rollback_if.failed_batches')}
          />
          <TextInput
            label={words.lagOver}
            description={words.lagHelp}
            {...form.getInputProps('rollback_if.lag_over')}
          />
          <TextInput
            label={words.within}
            description={words.withinHelp}
            {...form.getInputProps('rollback_if.within')}
          />
        </div>
      </fieldset>
    </>
  )
}

function ApprovalFields({ form }: { readonly form: UseFormReturnType<EnvironmentForm> }) {
  return (
    <fieldset className={classes.fieldset}>
      <legend>{rules.approvals}</legend>
      <div className={classes.defaults}>
        <TextInput
          label={words.required}
          description={words.requiredHelp}
          inputMode="numeric"
          required
          {...form.getInputProps('approvals.required')}
        />
        <TextInput
          label={words.expiresAfter}
          description={words.expiresHelp}
          {...form.getInputProps('approvals.expires_after')}
        />
      </div>
      <Checkbox
        mt="xs"
        label={words.forbidSelf}
        {...form.getInputProps('approvals.forbid_self', { type: 'checkbox' })}
      />
    </fieldset>
  )
}
