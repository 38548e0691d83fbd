import { ActionIcon, Button, NativeSelect, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { PlusIcon, TrashIcon } from '../../components/icons.tsx'
import { environmentForm as words, environmentStrings } from '../../strings/environments.ts'
import type { EnvironmentForm, ParameterRow, ParameterType } from './form.ts'
import classes from './environments.module.css'

const TYPES: readonly ParameterType[] = ['text', 'number', 'boolean', 'secret']
const BOOLEANS = ['true', 'false'] as const

interface RowsProps {
  readonly form: UseFormReturnType<EnvironmentForm>
}

/** The parameters of an environment, as rows that can be changed, added and removed. */
export function ParameterRows({ form }: RowsProps) {
  const rows = form.values.parameters
  const add = (): void => {
    const id = Math.max(-1, ...rows.map((row) => row.id)) + 1
    form.insertListItem('parameters', { id, name: '', type: 'text', value: '' } satisfies ParameterRow)
  }
  return (
    <fieldset className={classes.fieldset}>
      <legend>{environmentStrings.parameters}</legend>
      <Text size="xs" c="dimmed" mb="xs">
        {words.parametersHelp} {words.secretHelp}
      </Text>
      {rows.length === 0 && (
        <Text size="sm" c="dimmed" mb="xs">
          {environmentStrings.noParameters}
        </Text>
      )}
      {rows.map((row, index) => (
        <Row key={row.id} form={form} row={row} index={index} />
      ))}
      {form.errors['parameters'] && (
        <Text size="sm" c="var(--mantine-color-error)" mb="xs">
          {form.errors['parameters']}
        </Text>
      )}
      <Button variant="default" leftSection={<PlusIcon size={14} />} onClick={add}>
        {words.add}
      </Button>
    </fieldset>
  )
}

interface RowProps extends RowsProps {
  readonly row: ParameterRow
  readonly index: number
}

function Row({ form, row, index }: RowProps) {
  const path = `parameters.${index}`
  const name = row.name.trim()
  const changeType = (type: ParameterType): void => {
    const isKept = type !== 'boolean' || row.value === 'true' || row.value === 'false'
    form.replaceListItem('parameters', index, { ...row, type, value: isKept ? row.value : 'true' })
    form.clearFieldError(`${path}.value`)
  }
  return (
    <div className={classes.row}>
      <TextInput
        aria-label={words.nameOf(index + 1)}
        placeholder={words.name}
        spellCheck={false}
        {...form.getInputProps(`${path}.name`)}
      />
      <NativeSelect
        aria-label={words.typeOf(name)}
        data={TYPES.map((value) => ({ value, label: environmentStrings.types[value] }))}
        value={row.type}
        onChange={({ currentTarget: { value } }) => {
          const type = TYPES.find((one) => one === value)
          if (type) changeType(type)
        }}
      />
      {row.type === 'boolean' ? (
        <NativeSelect
          className={classes.rowValue ?? ''}
          aria-label={words.valueOf(name)}
          data={BOOLEANS.map((value) => ({ value, label: words.booleans[value] }))}
          {...form.getInputProps(`${path}.value`)}
        />
      ) : (
        <TextInput
          className={classes.rowValue ?? ''}
          aria-label={words.valueOf(name)}
          placeholder={row.type === 'secret' ? words.variable : words.value}
          spellCheck={false}
          {...form.getInputProps(`${path}.value`)}
        />
      )}
      <ActionIcon aria-label={words.remove(name)} size={30} onClick={() => form.removeListItem('parameters', index)}>
        <TrashIcon />
      </ActionIcon>
    </div>
  )
}
