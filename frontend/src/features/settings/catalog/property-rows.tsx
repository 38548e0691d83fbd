import { ActionIcon, Button, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { REDACTED } from '../../../../../src/domain/network/uri-password.ts'
import { PlusIcon, TrashIcon } from '../../../components/icons.tsx'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import type { CatalogForm } from './form.ts'
import classes from '../settings.module.css'

/** The additional properties of a catalog, as rows that can be changed, added and removed. */
export function PropertyRows({ form }: { readonly form: UseFormReturnType<CatalogForm> }) {
  const rows = form.values.properties
  const add = (): void => {
    const id = Math.max(0, ...rows.map((row) => row.id)) + 1
    form.insertListItem('properties', { id, key: '', value: '' })
  }
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
      {rows.map((row, index) => (
        <div key={row.id} className={classes.property}>
          <TextInput
            aria-label={strings.property}
            placeholder={strings.property}
            {...form.getInputProps(`properties.${index}.key`)}
          />
          <TextInput
            aria-label={`${strings.value}: ${row.key}`}
            placeholder={strings.value}
            description={row.value === REDACTED ? strings.kept : undefined}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            {...form.getInputProps(`properties.${index}.value`)}
          />
          <ActionIcon
            aria-label={strings.remove(row.key)}
            size={30}
            onClick={() => form.removeListItem('properties', index)}
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
