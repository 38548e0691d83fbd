import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { WEEKDAYS } from '../../../../src/domain/policies/calendar.ts'
import { WINDOW_KINDS } from '../../../../src/domain/policies/change-windows.ts'
import { PlusIcon, TrashIcon } from '../../components/icons.tsx'
import { environmentForm, environmentRules as rules } from '../../strings/environments.ts'
import { policies } from '../../strings/policies.ts'
import type { EnvironmentForm, WindowRow } from './form.ts'
import classes from './environments.module.css'

const words = environmentForm.rules

interface RowsProps {
  readonly form: UseFormReturnType<EnvironmentForm>
}

/** The windows of an environment, as groups of fields that can be changed, added and removed. */
export function WindowRows({ form }: RowsProps) {
  const rows = form.values.windows
  const add = (): void => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1
    const { timeZone: timezone } = new Intl.DateTimeFormat().resolvedOptions()
    const row: WindowRow = {
      id,
      kind: 'allow',
      timezone,
      days: WEEKDAYS.slice(0, 4),
      from: '09:00',
      to: '16:00',
      dates: '',
    }
    form.insertListItem('windows', row)
  }
  return (
    <fieldset className={classes.fieldset}>
      <legend>{rules.windows}</legend>
      <p className={classes.help}>{words.windowsHelp}</p>
      {rows.map((row, index) => (
        <Row key={row.id} form={form} row={row} index={index} />
      ))}
      {form.errors['windows'] && <p className={classes.fieldError}>{form.errors['windows']}</p>}
      <Button variant="default" leftSection={<PlusIcon size={14} />} onClick={add}>
        {words.addWindow}
      </Button>
    </fieldset>
  )
}

interface RowProps extends RowsProps {
  readonly row: WindowRow
  readonly index: number
}

function Row({ form, row, index }: RowProps) {
  const path = `windows.${index}`
  return (
    <fieldset className={classes.window}>
      <legend>{words.window(index + 1)}</legend>
      <div className={classes.defaults}>
        <NativeSelect
          label={words.kind}
          data={WINDOW_KINDS.map((value) => ({ value, label: rules.kinds[value] }))}
          {...form.getInputProps(`${path}.kind`)}
        />
        <TextInput label={words.timezone} spellCheck={false} {...form.getInputProps(`${path}.timezone`)} />
        <TextInput type="time" label={words.from} {...form.getInputProps(`${path}.from`)} />
        <TextInput type="time" label={words.to} {...form.getInputProps(`${path}.to`)} />
      </div>
      <Checkbox.Group label={words.days} {...form.getInputProps(`${path}.days`)} value={[...row.days]}>
        <div className={classes.days}>
          {WEEKDAYS.map((day) => (
            <Checkbox key={day} value={day} label={policies.days[day]} />
          ))}
        </div>
      </Checkbox.Group>
      <Textarea
        label={words.dates}
        description={words.datesHelp}
        autosize
        minRows={1}
        spellCheck={false}
        {...form.getInputProps(`${path}.dates`)}
      />
      <Button
        variant="default"
        size="xs"
        leftSection={<TrashIcon />}
        onClick={() => form.removeListItem('windows', index)}
      >
        {words.removeWindow(index + 1)}
      </Button>
    </fieldset>
  )
}
