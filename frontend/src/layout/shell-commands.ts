import { useMantineColorScheme } from '@mantine/core'
import { InfoIcon } from '../components/icons.tsx'
import type { CommandSource } from '../navigation.ts'
import { commands as words } from '../strings/commands.ts'
import { shell } from '../strings/everywhere/shell.ts'
import { SCHEMES } from './color-schemes.ts'
import { showShortcuts } from './shortcuts/shortcut-store.ts'

/** The color scheme of the page, and its help. */
export const useShellCommands: CommandSource = () => {
  const { setColorScheme } = useMantineColorScheme()
  return {
    here: [],
    anywhere: [
      ...SCHEMES.map(({ value, icon }) => ({
        id: `scheme-${value}`,
        label: words.theme(shell.schemes[value]),
        icon,
        run: () => setColorScheme(value),
      })),
      { id: 'shortcuts', label: words.shortcuts, also: words.help, icon: InfoIcon, run: showShortcuts },
    ],
  }
}
