import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { POLICY_OPERATIONS } from '../../../../src/domain/tables/operations.ts'
import { operations } from '../../strings/everywhere/common.ts'
import { policies, policyForm as words } from '../../strings/policies.ts'
import { CONDITIONS, DAYS, type PolicyForm } from './form.ts'
import classes from './policies.module.css'

interface FieldsProps {
  readonly form: UseFormReturnType<PolicyForm>
}

/** The fields of the form of a policy. */
export function PolicyFields({ form }: FieldsProps) {
  return (
    <>
      <TextInput label={words.name} description={words.nameHelp} required {...form.getInputProps('name')} />
      <div className={classes.pair}>
        <Textarea
          label={words.tables}
          description={words.tablesHelp}
          required
          autosize
          minRows={2}
          spellCheck={false}
          {...form.getInputProps('tables')}
        />
        <Textarea
          label={words.except}
          description={words.exceptHelp}
          autosize
          minRows={2}
          spellCheck={false}
          {...form.getInputProps('except')}
        />
      </div>
      <OperationFields form={form} />
      <WhenFields form={form} />
      <WindowFields form={form} />
      <LimitFields form={form} />
      <NativeSelect
        label={words.mode}
        description={policies.modeHelp[form.values.mode]}
        data={(['shadow', 'active'] as const).map((value) => ({ value, label: policies.modes[value] }))}
        {...form.getInputProps('mode')}
      />
    </>
  )
}

function OperationFields({ form }: FieldsProps) {
  return (
    <fieldset className={classes.fieldset}>
      <legend>{words.operations}</legend>
      {POLICY_OPERATIONS.map((name) => (
        <div key={name}>
          <Checkbox
            label={operations.names[name]}
            checked={form.values.operations[name].on}
            onChange={({ currentTarget }) => form.setFieldValue(`operations.${name}.on`, currentTarget.checked)}
          />
          {form.values.operations[name].on && words.optionsHelp[name] !== undefined && (
            <TextInput
              mt={4}
              aria-label={words.options(operations.names[name] ?? name)}
              description={words.optionsHelp[name]}
              spellCheck={false}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              {...form.getInputProps(`operations.${name}.options`)}
            />
          )}
        </div>
      ))}
      <Errors texts={errorsOf(form, (path) => /^operations(\.\d|$)/.test(path))} />
    </fieldset>
  )
}

function WhenFields({ form }: FieldsProps) {
  return (
    <fieldset className={classes.fieldset}>
      <legend>{words.when}</legend>
      <div className={classes.pair}>
        {CONDITIONS.map((name) => (
          <TextInput key={name} label={words[name]} inputMode="decimal" {...form.getInputProps(`when.${name}`)} />
        ))}
      </div>
      <div className={classes.pair}>
        <TextInput
          label={words.cron}
          description={words.cronHelp}
          spellCheck={false}
          {...form.getInputProps('when.schedule.cron')}
        />
        {form.values.when.schedule.cron.trim() !== '' && (
          <TextInput
            label={words.timezone}
            description="Europe/Berlin, UTC"
            spellCheck={false}
            {...form.getInputProps('when.schedule.timezone')}
          />
        )}
      </div>
      <Errors texts={errorsOf(form, (path) => path === 'when')} />
    </fieldset>
  )
}

function WindowFields({ form }: FieldsProps) {
  const { window } = form.values
  return (
    <fieldset className={classes.fieldset}>
      <legend>{policies.facts.window}</legend>
      <Checkbox
        label={words.window}
        description={words.windowHelp}
        checked={window.on}
        onChange={({ currentTarget }) => form.setFieldValue('window.on', currentTarget.checked)}
      />
      {window.on && (
        <>
          <Checkbox.Group label={words.days} {...form.getInputProps('window.days')} value={[...window.days]}>
            <div className={classes.pair}>
              {DAYS.map((day) => (
                <Checkbox key={day} value={day} label={policies.days[day]} />
              ))}
            </div>
          </Checkbox.Group>
          <div className={classes.pair}>
            <TextInput type="time" label={words.from} {...form.getInputProps('window.from')} />
            <TextInput type="time" label={words.to} {...form.getInputProps('window.to')} />
            <TextInput label={words.timezone} spellCheck={false} {...form.getInputProps('window.timezone')} />
          </div>
        </>
      )}
    </fieldset>
  )
}

function LimitFields({ form }: FieldsProps) {
  return (
    <fieldset className={classes.fieldset}>
      <legend>{words.limits}</legend>
      <div className={classes.pair}>
        <TextInput
          label={words.bytes_per_hour}
          description={words.bytesHelp}
          {...form.getInputProps('budget.bytes_per_hour')}
        />
        <TextInput
          label={words.concurrent_operations}
          description={words.concurrentHelp}
          inputMode="numeric"
          {...form.getInputProps('budget.concurrent_operations')}
        />
        <TextInput
          label={policies.facts.cooldown}
          description={words.cooldownHelp}
          {...form.getInputProps('cooldown')}
        />
        <TextInput
          label={words.priority}
          description={words.priorityHelp}
          inputMode="numeric"
          {...form.getInputProps('priority')}
        />
      </div>
    </fieldset>
  )
}

/** The messages of the paths that belong to no single field. */
function errorsOf({ errors }: UseFormReturnType<PolicyForm>, belongs: (path: string) => boolean): readonly string[] {
  return Object.entries(errors).flatMap(([path, text]) => (belongs(path) && typeof text === 'string' ? [text] : []))
}

function Errors({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <div role="alert">
      {texts.map((text) => (
        <p key={text} className={classes.fieldError}>
          {text}
        </p>
      ))}
    </div>
  )
}
