import { ActionIcon, Button, Text, TextInput } from '@mantine/core'
import { REDACTED } from '../../../../src/domain/uri-password.ts'
import { PlusIcon, TrashIcon } from '../../components/icons.tsx'
import { catalogStrings as strings } from '../../strings/settings.ts'
import type { PropertyRow } from './catalog-form.ts'
import classes from './settings.module.css'

interface PropertyRowsProps {
  readonly rows: readonly PropertyRow[]
  readonly problems: ReadonlyMap<string, string>
  readonly onChange: (rows: readonly PropertyRow[]) => void
}

/** The further properties of a catalog as rows that can be changed, added and removed. */
export function PropertyRows({ rows, problems, onChange }: PropertyRowsProps) {
  const change = (id: number, part: Partial<PropertyRow>): void =>
    onChange(rows.map((row) => (row.id === id ? { ...row, ...part } : row)))
  const add = (): void => onChange([...rows, { id: Math.max(0, ...rows.map(({ id }) => id)) + 1, key: '', value: '' }])
  return (
    <fieldset className={classes.fieldset}>
      <legend>{strings.properties}</legend>
      <Text size="xs" c="dimmed" mb="xs">
        {strings.propertiesHelp}
      </Text>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed" mb="xs">
          {strings.noProperties}
        </Text>
      ) : undefined}
      {rows.map((row) => (
        <div key={row.id} className={classes.property}>
          <TextInput
            aria-label={strings.property}
            placeholder={strings.property}
            value={row.key}
            error={problems.get(`property:${row.id}`)}
            onChange={({ currentTarget }) => change(row.id, { key: currentTarget.value })}
          />
          <TextInput
            aria-label={`${strings.value}: ${row.key}`}
            placeholder={strings.value}
            value={row.value}
            description={row.value === REDACTED ? strings.kept : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            onChange={({ currentTarget }) => change(row.id, { value: currentTarget.value })}
          />
          <ActionIcon
            aria-label={strings.remove(row.key)}
            size={30}
            onClick={() => onChange(rows.filter(({ id }) => id !== row.id))}
          >
            <TrashIcon />
          </ActionIcon>
        </div>
      ))}
      <Button variant="default" leftSection={<PlusIcon size={14} />} onClick={add}>
        {strings.add}
      </Button>
    </fieldset>
  )
}
