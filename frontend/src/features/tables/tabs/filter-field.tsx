import { TextInput } from '@mantine/core'
import { SearchIcon } from '../../../components/icons.tsx'
import type { TabProps } from './tab-props.ts'

interface FilterFieldProps extends Pick<TabProps, 'search' | 'onSearch'> {
  /** Says what is filtered. */
  readonly label: string
}

/** The field that filters the list of a tab by the text in the address. */
export function FilterField({ label, search, onSearch }: FilterFieldProps) {
  return (
    <TextInput
      w={280}
      maw="100%"
      aria-label={label}
      placeholder={label}
      leftSection={<SearchIcon size={14} />}
      value={search.q ?? ''}
      onChange={(event) => onSearch({ q: event.currentTarget.value })}
    />
  )
}
