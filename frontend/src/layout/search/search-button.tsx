import { SearchIcon } from '../../components/icons.tsx'
import { shell } from '../../strings/everywhere/shell.ts'
import classes from './search-button.module.css'

/** Opens the search, and shows its keyboard shortcut. */
export function SearchButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <button type="button" className={classes.button} onClick={onClick} aria-keyshortcuts="/ Control+K">
      <SearchIcon size={14} />
      {shell.search}
      <kbd className={classes.key}>{shell.searchKey}</kbd>
    </button>
  )
}
