"""The fake toolchain of the build folder with another tileiras."""


def make_toolchain(fake, own, tileiras):
    """The folder `own`: all of `fake`, but the script `tileiras`; {real} in it is the one of `fake`."""
    (own / "bin").mkdir(parents=True)
    for name in ("lib", "include", "bin/ptxas"):
        (own / name).symlink_to(fake / name)
    program = own / "bin" / "tileiras"
    program.write_text(tileiras.format(real=fake / "bin" / "tileiras"))
    program.chmod(0o755)
