"""Cellpost as the code interpreter of MathModelAgent: put this file and
clients/python/cellpost.py into backend/app/tools/ and let interpreter_factory.py
make a CellpostCodeInterpreter where it makes a LocalCodeInterpreter."""

import asyncio
import os
import pathlib

from app.schemas.response import ResultModel, StdErrModel
from app.tools.base_interpreter import BaseCodeInterpreter
from app.tools.cellpost import Cellpost


class CellpostCodeInterpreter(BaseCodeInterpreter):
    async def initialize(self):
        self.service = Cellpost(os.environ.get("CELLPOST", "http://localhost:8080"), os.environ.get("CELLPOST_TOKEN"))
        self.task, self.section = self.service.task(self.task_id), None
        await asyncio.to_thread(self._send_files)

    async def _pre_execute_code(self):
        """Nothing: fonts and the working directory are the service's matter."""

    def _send_files(self):
        self.task.create()
        for file in pathlib.Path(self.work_dir).rglob("*"):
            if file.is_file():
                self.task.write(file.relative_to(self.work_dir).as_posix(), file.read_bytes())

    def add_section(self, section_name):
        super().add_section(section_name)
        self.section = section_name

    async def execute_code(self, code):
        self.notebook_serializer.add_code_cell_to_notebook(code)
        answer = await asyncio.to_thread(self.task.execute, code, section=self.section)
        await asyncio.to_thread(self._fetch_files, answer.files)
        shown = [ResultModel(res_type="result", format="text", msg=answer.text)] if answer.text else []
        for image in answer.images:
            self.notebook_serializer.add_image_to_notebook(image["base64"], image["mime"])
            shown.append(ResultModel(res_type="result", format=image["mime"].split("/")[1], msg=image["base64"]))
        if answer.error:
            self.notebook_serializer.add_code_cell_error_to_notebook(answer.prompt)
            shown.append(StdErrModel(msg=answer.prompt))
        await self._push_to_websocket(shown)
        return answer.prompt, not answer.ok, answer.prompt if answer.error else ""

    def _fetch_files(self, changes):
        for change in changes:
            if change["change"] != "deleted":
                target = pathlib.Path(self.work_dir, change["path"])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self.task.read(change["path"]))

    async def get_created_images(self, section):
        pictures = {name for name in os.listdir(self.work_dir) if name.lower().endswith((".png", ".jpg", ".jpeg"))}
        new, self.last_created_images = pictures - self.last_created_images, pictures
        return sorted(new)

    async def cleanup(self):
        await asyncio.to_thread(self.task.delete)
