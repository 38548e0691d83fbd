import { ActionIcon, VisuallyHidden } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { NavEntry } from '../navigation.ts'
import classes from './app-layout.module.css'
import { NavCount } from './nav-count.tsx'

const nothing = (): undefined => undefined

/** A navigation entry in the top bar of phones, with its number. */
export function BarLink({ entry: { to, label, icon: Icon, useBadge = nothing } }: { readonly entry: NavEntry }) {
  const badge = useBadge()
  return (
    <ActionIcon size={36} className={classes.barLink ?? ''} renderRoot={(props) => <Link {...props} to={to} />}>
      <Icon />
      <VisuallyHidden>{label}</VisuallyHidden>
      <NavCount badge={badge} className={classes.barCount} />
    </ActionIcon>
  )
}
