import { MoonIcon, SunIcon, SystemIcon } from '../components/icons.tsx'

/** The color schemes that a user can choose. */
export const SCHEMES = [
  { value: 'auto', icon: SystemIcon },
  { value: 'light', icon: SunIcon },
  { value: 'dark', icon: MoonIcon },
] as const
