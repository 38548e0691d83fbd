import { Menu, useMantineColorScheme, VisuallyHidden } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRouter } from '@tanstack/react-router'
import { signOut, useMe } from '../api/session.ts'
import { useAction } from '../api/actions/use-action.ts'
import { CheckIcon, UserIcon } from '../components/icons.tsx'
import { shell } from '../strings/everywhere/shell.ts'
import { SCHEMES } from './color-schemes.ts'
import { TimeMenuItems, ZoneDialog } from './time-menu.tsx'
import classes from './user-menu.module.css'

/** The user menu: the signed-in user, color scheme, times, and sign-out. */
export function UserMenu() {
  const me = useMe()
  const router = useRouter()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const leave = useAction({
    send: signOut,
    onDone: () => router.navigate({ to: '/sign-in', search: { next: undefined, why: undefined } }),
  })
  const [isChoosingZone, zoneDialog] = useDisclosure(false)
  if (me === undefined) return null
  return (
    <>
      <Menu position="top-start" width={240}>
        <Menu.Target>
          <button type="button" className={classes.button}>
            <UserIcon />
            <VisuallyHidden>{shell.signedInAs}</VisuallyHidden>
            <span className={classes.words}>
              <span className={classes.name}>{me.user}</span>
              <span className={classes.role}>{shell.roles[me.role]}</span>
            </span>
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{shell.scheme}</Menu.Label>
          {SCHEMES.map(({ value, icon: Icon }) => (
            <Menu.Item
              key={value}
              leftSection={<Icon />}
              rightSection={colorScheme === value ? <CheckIcon /> : null}
              aria-current={colorScheme === value}
              onClick={() => setColorScheme(value)}
            >
              {shell.schemes[value]}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <TimeMenuItems onOtherZone={zoneDialog.open} />
          <Menu.Divider />
          {me.via === 'off' ? (
            <Menu.Label>{shell.authOff}</Menu.Label>
          ) : (
            <Menu.Item onClick={() => leave.mutate()}>{shell.signOut}</Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <ZoneDialog opened={isChoosingZone} onClose={zoneDialog.close} />
    </>
  )
}
